"""Waiting and workers, for asyncio and for threads.

Both modules are small and written by hand. The code that uses them is written for asyncio, and
the code for threads is generated from it.
"""
