"""Prints the milliseconds that the import of each module takes: python imports.py MODULE ..."""

import importlib
import sys
from time import perf_counter

for module in sys.argv[1:]:
    begin = perf_counter()
    importlib.import_module(module)
    print(1000 * (perf_counter() - begin))
