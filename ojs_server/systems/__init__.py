"""Systems whose own clients are served, each by a package of its own.

A package adds to the server by three doors: its routes, RPCs and Socket.IO server, which its
`system()` returns; operations, with a `ClaimPolicy` where its workers claim jobs in another way;
and kinds of jobs, which workers register. Its tables, statements and migrations are in its folder.
Only that of the profile is loaded.
"""
