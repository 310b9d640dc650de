"""The public clients' exchanges with a server, one file a client, and their replay.

A file has three parts:

- `shapes`: the objects that the client's parser reads, member by member, under a name each. A list
  of texts is a shape, too: the values that the parser knows.
- `calls`: the public surface of the client, call by call: the request that it makes, and `reads`,
  the kind of answer that it needs (see `kinds`). `fails` tells of a call that does not work,
  through the client's own fault or because nothing specifies it, and why; one that sends nothing
  has no request. `ran` tells of one that was run and sent no HTTP request, but spoke gRPC for
  example.
- `exchanges`: what client and server said to each other, in order. `proof` is "recorded" where the
  client itself ran, and "by reading, unproven" where its source was read. Each step names its call;
  one without a call is somebody else's, an operator's for example. Of a recording, ids have names,
  stack traces are cut, and what a client repeats while it waits stands there once.

A step sends `METHOD path` with a `body`, expects a `status` (200 unless said), finds at each path
of `finds` this very value, and each text of `holds` in an answer that is no JSON. `hears` makes it
an event stream, which stays open while the steps after it run, and gets these events in the end.
`keep` gives names to parts of the answer; `$name` stands for them later on. `headers` stand in
place of the client's usual ones.

`python -m tests.http.exchanges` writes the tables of `docs/clients.md` from all files.
"""
