// Particles that live on the GPU: cs "simulate" moves them, vs "vertex" and gs "expand" make quads, ps "pixel" colours them.

struct Particle
{
    float3 position;
    float age;
    float3 velocity;
    uint seed;
};

cbuffer Step : register(b0)
{
    row_major float4x4 view_projection;
    float3 attractor;
    float delta;
    float2 size;
    uint count;
};

StructuredBuffer<Particle> current : register(t0);
RWStructuredBuffer<Particle> next : register(u0);
AppendStructuredBuffer<uint> died : register(u1);

uint random(inout uint state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

float unit(inout uint state)
{
    return random(state) * (1.0 / 4294967296.0);
}

[numthreads(64, 1, 1)]
void simulate(uint3 id : SV_DispatchThreadID)
{
    if (id.x >= count)
        return;
    Particle p = current[id.x];
    float3 away = attractor - p.position;
    p.velocity += away * (delta / max(dot(away, away), 0.01));
    p.position += p.velocity * delta;
    p.age += delta;
    if (p.age > 4)
    {
        died.Append(id.x);
        p.age = 0;
        p.position = float3(unit(p.seed), unit(p.seed), unit(p.seed)) * 2 - 1;
        p.velocity = 0;
    }
    next[id.x] = p;
}

struct Point
{
    float4 clip : SV_Position;
    float age : AGE;
};

struct Corner
{
    float4 clip : SV_Position;
    float2 uv : TEXCOORD;
    nointerpolation float age : AGE;
};

Point vertex(uint id : SV_VertexID)
{
    Particle p = current[id];
    Point v;
    v.clip = mul(float4(p.position, 1), view_projection);
    v.age = p.age;
    return v;
}

[maxvertexcount(4)]
void expand(point Point v[1], inout TriangleStream<Corner> strip)
{
    static const float2 corners[4] = { float2(-1, -1), float2(-1, 1), float2(1, -1), float2(1, 1) };
    for (int i = 0; i < 4; i++)
    {
        Corner c;
        c.clip = v[0].clip + float4(corners[i] * size, 0, 0);
        c.uv = corners[i];
        c.age = v[0].age;
        strip.Append(c);
    }
}

float4 pixel(Corner c) : SV_Target
{
    float alpha = saturate(1 - dot(c.uv, c.uv));
    clip(alpha - 0.01);
    return float4(lerp(float3(1, 0.8, 0.3), float3(0.2, 0.1, 0.6), c.age / 4), 1) * alpha;
}
