"""Prints the seconds that the import of a module takes: python imports.py MODULE."""

import importlib
import sys
from time import perf_counter

begin = perf_counter()
importlib.import_module(sys.argv[1])
print(perf_counter() - begin)
