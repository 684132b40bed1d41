/**
 * `node:http` of a process that does not use `fetch`. An `import` of it reads all of its exports, and one of them loads the code of `fetch`:
 * 0.1 s of CPU at each start, as much as Node itself takes.
 */
import { createRequire } from "node:module";

export const { Agent, createServer, get, request }: typeof import("node:http") = createRequire(
	import.meta.url,
)("node:http");
