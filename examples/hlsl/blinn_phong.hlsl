// A lit, textured, normal-mapped surface with a shadow map: vs "vertex", ps "pixel".

#define LIGHTS 4

struct Light
{
    float3 position;
    float range;
    float3 color;
    float intensity;
};

cbuffer Frame : register(b0)
{
    float4x4 view_projection;
    float4x4 shadow_matrix;
    float3 eye;
    float ambient;
    Light lights[LIGHTS];
};

cbuffer Object : register(b1)
{
    float4x4 world;
    float4 tint;
    float shininess;
};

Texture2D<float4> albedo : register(t0);
Texture2D<float3> normals : register(t1);
Texture2D<float> shadow_map : register(t2);
SamplerState trilinear : register(s0);
SamplerComparisonState shadow_sampler : register(s1);

struct Vertex
{
    float3 position : POSITION;
    float3 normal : NORMAL;
    float4 tangent : TANGENT;
    float2 uv : TEXCOORD;
};

struct Surface
{
    float4 clip : SV_Position;
    float3 world_position : WORLD;
    float3 normal : NORMAL;
    float4 tangent : TANGENT;
    float2 uv : TEXCOORD0;
    float4 shadow : TEXCOORD1;
};

Surface vertex(Vertex v)
{
    float4 position = mul(world, float4(v.position, 1));
    Surface s;
    s.clip = mul(view_projection, position);
    s.world_position = position.xyz;
    s.normal = mul((float3x3)world, v.normal);
    s.tangent = float4(mul((float3x3)world, v.tangent.xyz), v.tangent.w);
    s.uv = v.uv;
    s.shadow = mul(shadow_matrix, position);
    return s;
}

float3 mapped_normal(Surface s)
{
    float3 n = normalize(s.normal);
    float3 t = normalize(s.tangent.xyz - n * dot(n, s.tangent.xyz));
    float3 b = cross(n, t) * s.tangent.w;
    float3 m = normals.Sample(trilinear, s.uv) * 2 - 1;
    return normalize(mul(m, float3x3(t, b, n)));
}

float lit_fraction(float4 shadow)
{
    float3 p = shadow.xyz / shadow.w;
    float2 uv = p.xy * float2(0.5, -0.5) + 0.5;
    float sum = 0;
    [unroll]
    for (int y = -1; y <= 1; y++)
        [unroll]
        for (int x = -1; x <= 1; x++)
            sum += shadow_map.SampleCmpLevelZero(shadow_sampler, uv, p.z - 0.001, int2(x, y));
    return sum / 9;
}

float4 pixel(Surface s) : SV_Target
{
    float4 base = albedo.Sample(trilinear, s.uv) * tint;
    clip(base.a - 0.5);
    float3 n = mapped_normal(s);
    float3 v = normalize(eye - s.world_position);
    float3 color = base.rgb * ambient;
    float visible = lit_fraction(s.shadow);
    for (uint i = 0; i < LIGHTS; i++)
    {
        float3 to_light = lights[i].position - s.world_position;
        float distance = length(to_light);
        float3 l = to_light / distance;
        float fade = saturate(1 - distance / lights[i].range);
        float diffuse = saturate(dot(n, l));
        float specular = pow(saturate(dot(n, normalize(l + v))), shininess);
        color += lights[i].color * lights[i].intensity * fade * fade * (base.rgb * diffuse + specular * 0.2) * visible;
    }
    return float4(color, base.a);
}
