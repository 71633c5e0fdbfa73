#!/usr/bin/env python3
"""Every scenario written by Java Paimon 1.3.1, and read by all."""

import unittest

import interop_case
import scenarios


@scenarios.written_by(interop_case.JAVA)
class JavaWrites(interop_case.InteropTest):
    pass


if __name__ == "__main__":
    unittest.main()
