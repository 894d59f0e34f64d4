"""The only part that does I/O: gRPC, once for asyncio and once for threads.

Both halves are small and written by hand; what stands on them is written for
asyncio alone, and generated for threads.
"""
