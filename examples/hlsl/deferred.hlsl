// Deferred shading: ps "geometry" fills three targets, cs "shade" lights them tile by tile.

struct Fragment
{
    float4 clip : SV_Position;
    float3 normal : NORMAL;
    float2 uv : TEXCOORD;
    nointerpolation uint material : MATERIAL;
};

struct Targets
{
    float4 albedo : SV_Target0;
    float4 normal : SV_Target1;
    uint material : SV_Target2;
};

Texture2DArray<float4> skins : register(t0);
SamplerState trilinear : register(s0);

Targets geometry(Fragment f)
{
    Targets t;
    t.albedo = skins.Sample(trilinear, float3(f.uv, f.material));
    t.normal = float4(normalize(f.normal) * 0.5 + 0.5, 0);
    t.material = f.material;
    return t;
}

struct PointLight
{
    float3 position;
    float radius;
    float3 color;
    float pad;
};

cbuffer Frame : register(b0)
{
    float4x4 inverse_projection;
    uint2 size;
    uint light_count;
};

Texture2D<float4> g_albedo : register(t1);
Texture2D<float4> g_normal : register(t2);
Texture2D<float> g_depth : register(t3);
StructuredBuffer<PointLight> point_lights : register(t4);
RWTexture2D<unorm float4> result : register(u0);

groupshared uint near_bits, far_bits, visible_count;
groupshared uint visible[256];

float3 view_position(uint2 pixel, float depth)
{
    float2 ndc = (pixel + 0.5) / size * float2(2, -2) + float2(-1, 1);
    float4 p = mul(inverse_projection, float4(ndc, depth, 1));
    return p.xyz / p.w;
}

[numthreads(16, 16, 1)]
void shade(uint3 id : SV_DispatchThreadID, uint index : SV_GroupIndex)
{
    if (index == 0)
    {
        near_bits = 0x7F7FFFFF;
        far_bits = 0;
        visible_count = 0;
    }
    GroupMemoryBarrierWithGroupSync();
    float depth = g_depth[id.xy];
    float3 position = view_position(id.xy, depth);
    InterlockedMin(near_bits, asuint(max(position.z, 0)));
    InterlockedMax(far_bits, asuint(max(position.z, 0)));
    GroupMemoryBarrierWithGroupSync();
    float nearest = asfloat(near_bits), farthest = asfloat(far_bits);
    for (uint i = index; i < light_count; i += 256)
    {
        PointLight light = point_lights[i];
        if (light.position.z + light.radius >= nearest && light.position.z - light.radius <= farthest)
        {
            uint slot;
            InterlockedAdd(visible_count, 1, slot);
            if (slot < 256)
                visible[slot] = i;
        }
    }
    GroupMemoryBarrierWithGroupSync();
    float3 normal = g_normal[id.xy].xyz * 2 - 1;
    float3 sum = 0;
    for (uint k = 0; k < min(visible_count, 256u); k++)
    {
        PointLight light = point_lights[visible[k]];
        float3 to_light = light.position - position;
        float squared = dot(to_light, to_light);
        float fade = saturate(1 - squared / (light.radius * light.radius));
        sum += light.color * fade * fade * saturate(dot(normal, to_light * rsqrt(squared)));
    }
    if (all(id.xy < size))
        result[id.xy] = float4(g_albedo[id.xy].rgb * sum, 1);
}
