"""What the parts of a client that run by themselves need: tasks in ``aio``, threads in ``sync``.

Both modules have the same names, so that the code for threads can be generated.
"""
