#!/usr/bin/env python3
"""Every scenario written by pypaimon 2.1.0, as far as it writes them, and read by all."""

import unittest

import interop_case
import scenarios


@scenarios.written_by(interop_case.PYPAIMON)
class PypaimonWrites(interop_case.InteropTest):
    pass


if __name__ == "__main__":
    unittest.main()
