// The Mandelbrot set on a full-screen triangle: vs "vertex" needs no vertex buffer, ps "pixel".

cbuffer View : register(b0)
{
    float2 center;
    float2 scale;
    uint limit;
};

struct Screen
{
    float4 position : SV_Position;
    float2 point_ : POINT;
};

Screen vertex(uint id : SV_VertexID)
{
    float2 corner = float2((id << 1) & 2, id & 2) * 2 - 1;
    Screen s;
    s.position = float4(corner, 0, 1);
    s.point_ = center + corner * scale;
    return s;
}

float4 pixel(Screen s) : SV_Target
{
    float2 z = 0;
    uint n = 0;
    [loop]
    while (n < limit && dot(z, z) < 16)
    {
        z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + s.point_;
        n++;
    }
    float smooth_ = n - log2(max(log2(dot(z, z)), 1));
    float3 color = 0.5 + 0.5 * cos(6.2831853 * (smooth_ / 32 + float3(0, 0.33, 0.67)));
    return float4(n == limit ? 0 : color, 1);
}
