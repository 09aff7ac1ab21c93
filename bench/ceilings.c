/* What the machine allows: AVX2 loops of the kind that a compiler of shaders could emit, on one and two threads, for the same
 * work as the scenes. Not a renderer: no clipping, no vertex shader, no state, no checking. An upper mark to aim at.
 *
 *   cc -O3 -mavx2 -mfma -o ceilings ceilings.c -lpthread -lm
 *   ./ceilings [PREFIX...]      the loops whose names begin so, or all; one JSON object a line
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
typedef float f8 __attribute__((vector_size(32)));
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static int cmp(const void *a, const void *b) {
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}
enum { W = 1920, H = 1080, T = 1024, RW = 1280, RH = 720, NT = 100000 };
static uint32_t *fb, *tex;
static float *X, *Y, *zb;
static float *A, *B, *C;
typedef struct {
    float x[3], y[3], z;
    uint8_t c[3][4];
} Tri;
static Tri *tri;
typedef void (*Fn)(int id, int n);
static struct {
    Fn f;
    int id, n;
} job[2];
static void *th(void *p) {
    long i = (long)p;
    job[i].f(job[i].id, job[i].n);
    return 0;
}
static double once(Fn f, int n) {
    double t = now();
    if (n == 1)
        f(0, 1);
    else {
        pthread_t p;
        job[1].f = f;
        job[1].id = 1;
        job[1].n = 2;
        pthread_create(&p, 0, th, (void *)1);
        f(0, 2);
        pthread_join(p, 0);
    }
    return now() - t;
}
static char **wanted;
static int asked(const char *name) {
    if (!*wanted)
        return 1;
    for (char **w = wanted; *w; w++)
        if (!strncmp(name, *w, strlen(*w)))
            return 1;
    return 0;
}
static void bench(const char *name, const char *unit, Fn f, double work) {
    if (!asked(name))
        return;
    for (int n = 1; n <= 2; n++) {
        once(f, n);
        double t = once(f, n);
        int reps = (int)(0.15 / t) + 1;
        double s[7];
        for (int r = 0; r < 7; r++) {
            double a = 0;
            for (int i = 0; i < reps; i++)
                a += once(f, n);
            s[r] = work * reps / a;
        }
        double c[7];
        memcpy(c, s, sizeof s);
        qsort(c, 7, sizeof *c, cmp);
        printf("{\"test\":\"%s.%dt\",\"unit\":\"%s\",\"better\":\"high\",\"median\":%.4g,\"min\":%.4g,\"max\":%.4g,\"n\":7,"
               "\"samples\":[",
               name, n, unit, c[3], c[0], c[6]);
        for (int r = 0; r < 7; r++)
            printf("%s%.4g", r ? "," : "", s[r]);
        printf("]}\n");
        fflush(stdout);
    }
}
static void fill(int id, int n) { /* full frame store */
    int y0 = H * id / n, y1 = H * (id + 1) / n;
    __m256i v = _mm256_set1_epi32(0xff804020 + id);
    for (int i = y0 * W; i < y1 * W; i += 8)
        _mm256_store_si256((void *)(fb + i), v);
}
static void blend_u8(int id, int n) { /* 16 layers, tile by tile, 8-bit lerp */
    __m256i z = _mm256_setzero_si256(), r = _mm256_set1_epi16(128);
    for (int t = id; t < (W / 64) * ((H + 63) / 64); t += n) {
        int tx = t % (W / 64) * 64, ty = t / (W / 64) * 64, ye = ty + 64 < H ? ty + 64 : H;
        for (int l = 0; l < 16; l++) {
            __m256i sa = _mm256_set1_epi64x(0x4d4d007f003f001fll + l), ia = _mm256_set1_epi16(178);
            for (int y = ty; y < ye; y++)
                for (int x = tx; x < tx + 64; x += 8) {
                    __m256i *p = (void *)(fb + y * W + x), d = *p, lo = _mm256_unpacklo_epi8(d, z), hi = _mm256_unpackhi_epi8(d, z);
                    lo = _mm256_add_epi16(_mm256_add_epi16(_mm256_mullo_epi16(lo, ia), sa), r);
                    lo = _mm256_srli_epi16(_mm256_add_epi16(lo, _mm256_srli_epi16(lo, 8)), 8);
                    hi = _mm256_add_epi16(_mm256_add_epi16(_mm256_mullo_epi16(hi, ia), sa), r);
                    hi = _mm256_srli_epi16(_mm256_add_epi16(hi, _mm256_srli_epi16(hi, 8)), 8);
                    *p = _mm256_packus_epi16(lo, hi);
                }
        }
    }
}
static inline __m256i pack(__m256 r, __m256 g, __m256 b, __m256 a) {
    __m256i R = _mm256_cvtps_epi32(r), G = _mm256_cvtps_epi32(g), Bq = _mm256_cvtps_epi32(b), Aq = _mm256_cvtps_epi32(a);
    return _mm256_or_si256(_mm256_or_si256(R, _mm256_slli_epi32(G, 8)),
                           _mm256_or_si256(_mm256_slli_epi32(Bq, 16), _mm256_slli_epi32(Aq, 24)));
}
#define UNP(v, s) _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, s), m))
static void blend_f32(int id, int n) { /* the general path: float SoA in, pack out */
    __m256i m = _mm256_set1_epi32(255);
    __m256 k = _mm256_set1_ps(.7f);
    for (int t = id; t < (W / 64) * ((H + 63) / 64); t += n) {
        int tx = t % (W / 64) * 64, ty = t / (W / 64) * 64, ye = ty + 64 < H ? ty + 64 : H;
        for (int l = 0; l < 16; l++) {
            __m256 s = _mm256_set1_ps(30 + l);
            for (int y = ty; y < ye; y++)
                for (int x = tx; x < tx + 64; x += 8) {
                    __m256i *p = (void *)(fb + y * W + x), d = *p;
                    *p = pack(_mm256_fmadd_ps(UNP(d, 0), k, s), _mm256_fmadd_ps(UNP(d, 8), k, s), _mm256_fmadd_ps(UNP(d, 16), k, s),
                              _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(d, 24)), k, s));
                }
        }
    }
}
static void bilinear_f(int id, int n) { /* SoA float, 4 gathers for 8 pixels */
    __m256i m = _mm256_set1_epi32(255), tm = _mm256_set1_epi32(T - 1), one = _mm256_set1_epi32(1);
    __m256 lane = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int y = id; y < H; y += n) {
        float v = (y + .5f) * T / H - .5f;
        int v0 = (int)floorf(v);
        __m256 fv = _mm256_set1_ps(v - v0);
        const int *r0 = (int *)tex + (v0 & (T - 1)) * T, *r1 = (int *)tex + ((v0 + 1) & (T - 1)) * T;
        for (int x = 0; x < W; x += 8) {
            __m256 u =
                _mm256_fmadd_ps(_mm256_add_ps(_mm256_set1_ps(x + .5f), lane), _mm256_set1_ps((float)T / W), _mm256_set1_ps(-.5f));
            __m256 uf = _mm256_floor_ps(u), fu = _mm256_sub_ps(u, uf);
            __m256i u0 = _mm256_cvtps_epi32(uf), u1 = _mm256_and_si256(_mm256_add_epi32(u0, one), tm);
            u0 = _mm256_and_si256(u0, tm);
            __m256i a = _mm256_i32gather_epi32(r0, u0, 4), b = _mm256_i32gather_epi32(r0, u1, 4),
                    c = _mm256_i32gather_epi32(r1, u0, 4), d = _mm256_i32gather_epi32(r1, u1, 4);
            __m256 o[4];
            for (int k = 0; k < 4; k++) {
                __m256 A_ = UNP(a, 8 * k), B_ = UNP(b, 8 * k), C_ = UNP(c, 8 * k), D_ = UNP(d, 8 * k);
                A_ = _mm256_fmadd_ps(fu, _mm256_sub_ps(B_, A_), A_);
                C_ = _mm256_fmadd_ps(fu, _mm256_sub_ps(D_, C_), C_);
                o[k] = _mm256_fmadd_ps(fv, _mm256_sub_ps(C_, A_), A_);
            }
            _mm256_store_si256((void *)(fb + y * W + x), pack(o[0], o[1], o[2], o[3]));
        }
    }
}
static void bilinear_i(int id, int n) { /* pairs of texels by 64-bit loads, 8-bit weights, pmaddubsw */
    for (int y = id; y < H; y += n) {
        float v = (y + .5f) * T / H - .5f;
        int v0 = (int)floorf(v), wv = (int)((v - v0) * 128);
        const uint32_t *r0 = tex + (v0 & (T - 1)) * T, *r1 = tex + ((v0 + 1) & (T - 1)) * T;
        __m128i WV = _mm_set1_epi16((short)(wv << 8 | (128 - wv)));
        int u = (int)((.5f * T / W - .5f) * 65536), du = (int)((float)T / W * 65536);
        for (int x = 0; x < W; x += 2) {
            __m128i s[2];
            for (int k = 0; k < 2; k++, u += du) {
                int i = (u >> 16) & (T - 2), f = (u >> 9) & 127;
                __m128i a = _mm_loadl_epi64((void *)(r0 + i)), c = _mm_loadl_epi64((void *)(r1 + i));
                __m128i q = _mm_maddubs_epi16(_mm_unpacklo_epi8(a, c), WV); /* 8 x 16: two texels mixed in v */
                __m128i w = _mm_set_epi64x(0x0001000100010001ll * f, 0x0001000100010001ll * (128 - f));
                q = _mm_srli_epi16(_mm_mullo_epi16(_mm_srli_epi16(q, 7), w), 7);
                s[k] = _mm_add_epi16(q, _mm_unpackhi_epi64(q, q));
            }
            __m128i o = _mm_packus_epi16(_mm_unpacklo_epi64(s[0], s[1]), s[0]);
            _mm_storel_epi64((void *)(fb + y * W + x), o);
        }
    }
}
static void mandel(int id, int n) { /* 64 iterations, 4 vectors in flight, FMA */
    __m256 lane = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), four = _mm256_set1_ps(4), one = _mm256_set1_ps(1);
    for (int y = id; y < RH; y += n)
        for (int x = 0; x < RW; x += 32) {
            __m256 cx[4], zx[4], zy[4], c[4], cy = _mm256_set1_ps(y * 2.4f / RH - 1.2f);
            for (int k = 0; k < 4; k++) {
                cx[k] = _mm256_sub_ps(_mm256_mul_ps(_mm256_add_ps(_mm256_set1_ps(x + 8 * k), lane), _mm256_set1_ps(3.f / RW)),
                                      _mm256_set1_ps(2.2f));
                zx[k] = zy[k] = c[k] = _mm256_setzero_ps();
            }
            for (int i = 0; i < 64; i++)
                for (int k = 0; k < 4; k++) {
                    __m256 yy = _mm256_mul_ps(zy[k], zy[k]), xx = _mm256_mul_ps(zx[k], zx[k]), xy = _mm256_mul_ps(zx[k], zy[k]);
                    zx[k] = _mm256_add_ps(_mm256_sub_ps(xx, yy), cx[k]);
                    zy[k] = _mm256_add_ps(_mm256_add_ps(xy, xy), cy);
                    c[k] = _mm256_add_ps(c[k], _mm256_and_ps(_mm256_cmp_ps(_mm256_add_ps(xx, yy), four, _CMP_LT_OQ), one));
                }
            for (int k = 0; k < 4; k++)
                _mm256_storeu_si256((void *)(fb + y * RW + x + 8 * k), _mm256_cvtps_epi32(c[k]));
        }
}
static void saxpy(int id, int n) {
    long N = 16 << 20, a = N * id / n, b = N * (id + 1) / n;
    for (long i = a; i < b; i += 8)
        _mm256_store_ps(Y + i, _mm256_fmadd_ps(_mm256_set1_ps(.5f), _mm256_load_ps(X + i), _mm256_load_ps(Y + i)));
}
static void matmul(int id, int n) { /* the naive kernel, one vector of 8 columns an invocation group */
    for (int r = 512 * id / n; r < 512 * (id + 1) / n; r++)
        for (int c = 0; c < 512; c += 8) {
            __m256 s = _mm256_setzero_ps();
            for (int k = 0; k < 512; k++)
                s = _mm256_fmadd_ps(_mm256_set1_ps(A[r * 512 + k]), _mm256_load_ps(B + k * 512 + c), s);
            _mm256_store_ps(C + r * 512 + c, s);
        }
}
static void tris(int id, int n) { /* 100k triangles of 10 px: setup, edge test and depth test 8 wide, smooth colour */
    int Y0 = RH * id / n, Y1 = RH * (id + 1) / n;
    __m256 lane = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int i = Y0 * RW; i < Y1 * RW; i++) {
        zb[i] = 1;
        fb[i] = 0;
    }
    for (int t = 0; t < NT; t++) {
        const Tri *q = tri + t;
        float x0 = q->x[0], x1 = q->x[1], x2 = q->x[2], y0 = q->y[0], y1 = q->y[1], y2 = q->y[2];
        float ymn = fminf(y0, fminf(y1, y2)), ymx = fmaxf(y0, fmaxf(y1, y2));
        int ya = (int)ceilf(ymn - .5f), yb = (int)floorf(ymx - .5f);
        if (ya < Y0)
            ya = Y0;
        if (yb >= Y1)
            yb = Y1 - 1;
        if (ya > yb)
            continue;
        float xmn = fminf(x0, fminf(x1, x2)), xmx = fmaxf(x0, fmaxf(x1, x2));
        int xa = (int)xmn;
        if (xa < 0)
            xa = 0;
        if (xa > RW - 8)
            xa = RW - 8;
        int xb = (int)xmx;
        if (xb >= RW)
            xb = RW - 1;
        float area = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0);
        if (area <= 0)
            continue;
        float ia = 1 / area;
        __m256 e0x = _mm256_set1_ps(-(y2 - y1) * ia), e1x = _mm256_set1_ps(-(y0 - y2) * ia), z = _mm256_set1_ps(q->z),
               zero = _mm256_setzero_ps(), one = _mm256_set1_ps(1);
        __m256 c0[3], c1[3], c2[3];
        for (int k = 0; k < 3; k++) {
            c2[k] = _mm256_set1_ps(q->c[2][k]);
            c0[k] = _mm256_set1_ps(q->c[0][k] - q->c[2][k]);
            c1[k] = _mm256_set1_ps(q->c[1][k] - q->c[2][k]);
        }
        for (int y = ya; y <= yb; y++)
            for (int x = xa; x <= xb; x += 8) {
                float py = y + .5f;
                __m256 px = _mm256_add_ps(_mm256_set1_ps(x + .5f), lane);
                __m256 w0 = _mm256_fmadd_ps(e0x, _mm256_sub_ps(px, _mm256_set1_ps(x1)), _mm256_set1_ps((x2 - x1) * (py - y1) * ia)),
                       w1 = _mm256_fmadd_ps(e1x, _mm256_sub_ps(px, _mm256_set1_ps(x2)), _mm256_set1_ps((x0 - x2) * (py - y2) * ia));
                __m256 w2 = _mm256_sub_ps(one, _mm256_add_ps(w0, w1));
                __m256 in = _mm256_cmp_ps(_mm256_min_ps(w0, _mm256_min_ps(w1, w2)), zero, _CMP_GE_OQ);
                float *zp = zb + y * RW + x;
                in = _mm256_and_ps(in, _mm256_cmp_ps(z, _mm256_loadu_ps(zp), _CMP_LT_OQ));
                if (!_mm256_movemask_ps(in))
                    continue;
                __m256i mk = _mm256_castps_si256(in);
                _mm256_maskstore_ps(zp, mk, z);
                _mm256_maskstore_epi32((int *)fb + y * RW + x, mk,
                                       pack(_mm256_fmadd_ps(w1, c1[0], _mm256_fmadd_ps(w0, c0[0], c2[0])),
                                            _mm256_fmadd_ps(w1, c1[1], _mm256_fmadd_ps(w0, c0[1], c2[1])),
                                            _mm256_fmadd_ps(w1, c1[2], _mm256_fmadd_ps(w0, c0[2], c2[2])), _mm256_set1_ps(255)));
            }
    }
}
static float rnd(void) {
    return rand() / (float)RAND_MAX;
}
int main(int argc, char **argv) {
    (void)argc;
    wanted = argv + 1;
    fb = aligned_alloc(64, W * H * 4 + 64);
    memset(fb, 0, W * H * 4);
    tex = aligned_alloc(64, T * T * 4);
    for (int i = 0; i < T * T; i++)
        tex[i] = rand();
    X = aligned_alloc(64, 64 << 20);
    Y = aligned_alloc(64, 64 << 20);
    for (int i = 0; i < 16 << 20; i++)
        X[i] = Y[i] = 1;
    A = aligned_alloc(64, 1 << 20);
    B = aligned_alloc(64, 1 << 20);
    C = aligned_alloc(64, 1 << 20);
    for (int i = 0; i < 512 * 512; i++)
        A[i] = B[i] = rnd();
    zb = aligned_alloc(64, RW * RH * 4 + 64);
    tri = malloc(NT * sizeof *tri);
    for (int i = 0; i < NT; i++) {
        float a = rnd() * 6.2831853f, l = 4.4721f, cx = rnd() * RW, cy = rnd() * RH;
        tri[i].x[0] = cx;
        tri[i].y[0] = cy;
        tri[i].x[1] = cx + cosf(a) * l;
        tri[i].y[1] = cy + sinf(a) * l;
        tri[i].x[2] = cx - sinf(a) * l;
        tri[i].y[2] = cy + cosf(a) * l;
        tri[i].z = rnd();
        for (int k = 0; k < 12; k++)
            ((uint8_t *)tri[i].c)[k] = rand();
    }
    double gp = W * (double)H / 1e9;
    bench("fill", "Gpix/s", fill, gp);
    bench("blend16.u8", "Gpix/s", blend_u8, gp * 16);
    bench("blend16.f32", "Gpix/s", blend_f32, gp * 16);
    bench("bilinear.gather", "Gpix/s", bilinear_f, gp);
    bench("bilinear.int8", "Gpix/s", bilinear_i, gp);
    bench("mandel64.fixed", "Gflop/s", mandel, RW * (double)RH * 640 / 1e9);
    bench("saxpy16M", "GB/s", saxpy, 16e6 * 1.048576 * 12 / 1e9);
    bench("matmul512.naive", "Gflop/s", matmul, 2.0 * 512 * 512 * 512 / 1e9);
    bench("tri_small.soup", "Mtri/s", tris, NT / 1e6);
    return 0;
}
