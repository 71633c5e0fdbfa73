#!/usr/bin/env python3
"""Every scenario written by the headrace program, and read by all."""

import unittest

import interop_case
import scenarios


@scenarios.written_by(interop_case.HEADRACE)
class HeadraceWrites(interop_case.InteropTest):
    pass


if __name__ == "__main__":
    unittest.main()
