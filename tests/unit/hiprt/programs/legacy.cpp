// Symbols that no header declares any more but old binaries import.
#include "check.h"

extern "C" {
float __gnu_h2f_ieee(unsigned short);
unsigned short __gnu_f2h_ieee(float);
void __hipRegisterTexture(void**, void*, char*, char*, int, int, int);
void __hipRegisterSurface(void**, void*, char*, char*, int, int);
void __hipGetPCH(const char**, unsigned*);
}

static unsigned bits(float f) {
  unsigned u;
  std::memcpy(&u, &f, 4);
  return u;
}

int main() {
  // IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
  EXPECT_EQ(bits(__gnu_h2f_ieee(0x3c00)), bits(1.0f));
  EXPECT_EQ(bits(__gnu_h2f_ieee(0xc248)), bits(-3.140625f));
  EXPECT_EQ(bits(__gnu_h2f_ieee(0x0001)), bits(0x1p-24f));
  EXPECT_EQ(bits(__gnu_h2f_ieee(0x83ff)), bits(-0x1.ff8p-15f));
  EXPECT_EQ(bits(__gnu_h2f_ieee(0x7c00)), 0x7f800000u);
  EXPECT_EQ(bits(__gnu_h2f_ieee(0x8000)), 0x80000000u);
  EXPECT(__gnu_h2f_ieee(0x7e01) != __gnu_h2f_ieee(0x7e01));
  EXPECT_EQ(__gnu_f2h_ieee(65504.0f), 0x7bffu);
  EXPECT_EQ(__gnu_f2h_ieee(65519.0f), 0x7bffu);
  EXPECT_EQ(__gnu_f2h_ieee(65520.0f), 0x7c00u);             // a tie that rounds to infinity
  EXPECT_EQ(__gnu_f2h_ieee(1.0f + 0x1p-11f), 0x3c00u);      // ties to even
  EXPECT_EQ(__gnu_f2h_ieee(1.0f + 0x1.8p-10f), 0x3c02u);
  EXPECT_EQ(__gnu_f2h_ieee(-0x1p-24f), 0x8001u);
  EXPECT_EQ(__gnu_f2h_ieee(0x1p-25f), 0x0000u);             // half of the smallest: ties to even
  EXPECT_EQ(__gnu_f2h_ieee(0x1.01p-25f), 0x0001u);
  EXPECT_EQ(__gnu_f2h_ieee(0x1.ffep-15f), 0x0400u);         // rounds up into the normal numbers
  for (unsigned h = 0; h < 0x10000; ++h) {                  // every half survives the round trip
    if ((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0) continue;
    if (__gnu_f2h_ieee(__gnu_h2f_ieee((unsigned short)h)) != h) {
      std::printf("half %04x does not survive\n", h);
      return 1;
    }
  }
  const char* pch = "x";
  unsigned size = 1;
  __hipGetPCH(&pch, &size);
  EXPECT(pch == nullptr && size == 0);
  char name[] = "old_texture";
  __hipRegisterTexture(nullptr, nullptr, name, name, 0, 0, 0);  // says that it is not supported
  __hipRegisterSurface(nullptr, nullptr, name, name, 0, 0);
  return finish();
}
