"""The public clients' exchanges with a server, one file a client, and their replay.

A file has three parts:

- `shapes`: the objects that the client's parser reads, member by member, under a name each. A list
  of texts is a shape, too: the values that the parser knows.
- `calls`: the public surface of the client, call by call: the request that it makes, and `reads`,
  the kind of answer that it needs (see `kinds`). `fails` says why a call does not work; it is the
  client's fault, or nothing specifies the call, unless it is `ours`. `partly` says why one works in
  part, and `unused` why no user of the client comes to make it. A call that sends nothing has no
  request. `ran` marks one that was run and sent no HTTP request, but spoke gRPC for example.
- `exchanges`: what client and server said to each other in a run, in order. Each step names its
  call; one without a call is somebody else's, an operator's for example. Ids have names, stack
  traces are cut, and what a client repeats while it waits stands there once.

A step sends `METHOD path` with a `body`, expects a `status` (200 unless said), finds at each path
of `finds` this very value, and each text of `holds` in an answer that is no JSON. `hears` makes it
an event stream, which stays open while the steps after it run, and gets these events in the end;
what it finds is in the last of them.
`keep` gives names to parts of the answer; `$name` stands for them later on. `headers` stand in
place of the client's usual ones.

`python -m tests.http.exchanges` plays all files, and writes what `docs/clients.md` has of them.
"""
