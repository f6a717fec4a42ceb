// Instructions that no AMD target has: CuTe only lists them.
#pragma once
