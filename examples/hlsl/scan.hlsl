// Inclusive prefix sum over 512 numbers per group in shared memory: cs "scan".

#define GROUP 512

StructuredBuffer<uint> source : register(t0);
RWStructuredBuffer<uint> sums : register(u0);
RWByteAddressBuffer totals : register(u1);

groupshared uint shared_[2][GROUP];

[numthreads(GROUP, 1, 1)]
void scan(uint3 id : SV_DispatchThreadID, uint index : SV_GroupIndex, uint3 group : SV_GroupID)
{
    uint from = 0;
    shared_[0][index] = source[id.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint step_ = 1; step_ < GROUP; step_ <<= 1)
    {
        uint value = shared_[from][index];
        if (index >= step_)
            value += shared_[from][index - step_];
        from ^= 1;
        shared_[from][index] = value;
        GroupMemoryBarrierWithGroupSync();
    }
    uint total = shared_[from][index];
    sums[id.x] = total;
    if (index == GROUP - 1)
    {
        uint before;
        totals.InterlockedAdd(0, total, before);
        totals.Store(4 + 4 * group.x, total);
    }
}
