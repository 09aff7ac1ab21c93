// Displaced terrain by tessellation: vs "vertex", hs "hull", ds "evaluate", ps "pixel".

cbuffer Frame : register(b0)
{
    float4x4 view_projection;
    float3 eye;
    float height;
};

Texture2D<float> heights : register(t0);
SamplerState bilinear : register(s0);

struct Corner
{
    float3 position : POSITION;
    float2 uv : TEXCOORD;
};

struct Factors
{
    float edges[4] : SV_TessFactor;
    float inside[2] : SV_InsideTessFactor;
};

struct Ground
{
    float4 clip : SV_Position;
    float3 normal : NORMAL;
    float2 uv : TEXCOORD;
};

Corner vertex(Corner c)
{
    return c;
}

float factor(float3 a, float3 b)
{
    return clamp(64 * length(a - b) / distance((a + b) * 0.5, eye), 1, 64);
}

Factors factors(InputPatch<Corner, 4> p)
{
    Factors f;
    f.edges[0] = factor(p[0].position, p[2].position);
    f.edges[1] = factor(p[0].position, p[1].position);
    f.edges[2] = factor(p[1].position, p[3].position);
    f.edges[3] = factor(p[2].position, p[3].position);
    f.inside[0] = (f.edges[1] + f.edges[3]) * 0.5;
    f.inside[1] = (f.edges[0] + f.edges[2]) * 0.5;
    return f;
}

[domain("quad")]
[partitioning("fractional_odd")]
[outputtopology("triangle_cw")]
[outputcontrolpoints(4)]
[patchconstantfunc("factors")]
[maxtessfactor(64)]
Corner hull(InputPatch<Corner, 4> p, uint i : SV_OutputControlPointID)
{
    return p[i];
}

float sample_height(float2 uv)
{
    return heights.SampleLevel(bilinear, uv, 0) * height;
}

[domain("quad")]
Ground evaluate(Factors f, float2 where_ : SV_DomainLocation, const OutputPatch<Corner, 4> p)
{
    float3 position = lerp(lerp(p[0].position, p[1].position, where_.x), lerp(p[2].position, p[3].position, where_.x), where_.y);
    Ground g;
    g.uv = lerp(lerp(p[0].uv, p[1].uv, where_.x), lerp(p[2].uv, p[3].uv, where_.x), where_.y);
    position.y += sample_height(g.uv);
    const float e = 1.0 / 512;
    float dx = sample_height(g.uv + float2(e, 0)) - sample_height(g.uv - float2(e, 0));
    float dz = sample_height(g.uv + float2(0, e)) - sample_height(g.uv - float2(0, e));
    g.normal = normalize(float3(-dx, 2 * e, -dz));
    g.clip = mul(view_projection, float4(position, 1));
    return g;
}

float4 pixel(Ground g) : SV_Target
{
    float light = saturate(dot(normalize(g.normal), normalize(float3(0.4, 1, 0.3))));
    float3 color = lerp(float3(0.25, 0.4, 0.15), float3(0.5, 0.45, 0.4), smoothstep(0.5, 0.9, 1 - g.normal.y));
    return float4(color * (0.2 + 0.8 * light), 1);
}
