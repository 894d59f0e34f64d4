"""The gRPC transports for asyncio and for threads. Only this package does I/O.

Both transports are small and written by hand. The code that uses them is written for
asyncio, and the code for threads is generated from it.
"""
