import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Log, type LogFormat, type LogLevel } from "../../../cli/log.ts";

const FAILURE =
	'{"time":"2026-11-22T12:30:05.123Z","requestId":"r1","code":7009,"failure":"upstreamUnavailable","backend":"vllm","attempt":2,"upstream":{"status":500}}';

function start(format: LogFormat, level: LogLevel = "info") {
	const lines: string[] = [];
	const log = new Log({
		format,
		level,
		now: () => new Date("2026-11-22T00:00:00Z"),
		out: (line) => lines.push(`out ${line}`),
		err: (line) => lines.push(`err ${line}`),
	});
	return { log, lines };
}

async function follow(log: Log, text: string): Promise<void> {
	const stream = new PassThrough();
	log.follow(stream, "error");
	stream.end(text);
	await once(stream, "close");
}

describe("the log", () => {
	it("writes messages for people as they are", () => {
		const { log, lines } = start("text");
		log.info("\nready\n", { message: "ready", url: "http://x" });
		log.error("failed");
		expect(lines).toEqual(["out \nready\n", "err failed"]);
	});

	it("writes one object per line, with fields instead of the text for people", () => {
		const { log, lines } = start("json");
		log.info("\nready on\n", { message: "ready", url: "http://x" });
		log.warn(" two\nlines ");
		expect(lines).toEqual([
			'out {"time":"2026-11-22T00:00:00.000Z","level":"info","message":"ready","url":"http://x"}',
			'out {"time":"2026-11-22T00:00:00.000Z","level":"warn","message":"two\\nlines"}',
		]);
	});

	it("leaves out lines below its level", () => {
		const { log, lines } = start("text", "error");
		log.info("a");
		log.warn("b");
		log.error("c");
		expect(lines).toEqual(["err c"]);
		const silent = start("json", "none");
		silent.log.error("c");
		expect(silent.lines).toEqual([]);
	});

	it("keeps the fields of the Worker's lines, and wraps the runtime's own", async () => {
		const { log, lines } = start("json");
		await follow(log, `${FAILURE}\n\nkj/async.c++: failed\n{"not json\n`);
		expect(lines).toEqual([
			`out {"level":"error",${FAILURE.slice(1)}`,
			'out {"time":"2026-11-22T00:00:00.000Z","level":"error","message":"kj/async.c++: failed"}',
			'out {"time":"2026-11-22T00:00:00.000Z","level":"error","message":"{\\"not json"}',
		]);
	});

	it("gives lines of the runtime the severity that they name, and leaves out the one about its compile cache", async () => {
		const { log, lines } = start("json");
		const cache =
			"NOSENTRY per-isolate bootstrap compile cache failed its compatibility check; scripts will be";
		await follow(
			log,
			[
				`workerd/api/per-isolate-bootstrap.c++:457: warning: ${cache} compiled from source`,
				"workerd/io/worker.c++:12: warning: slow",
				"workerd/server/server.c++:3: info: open",
				"kj/async.c++:9: failed: broken",
				"warning: by a Worker",
			].join("\n"),
		);
		const time = "2026-11-22T00:00:00.000Z";
		expect(lines.map((line) => JSON.parse(line.slice("out ".length)))).toEqual([
			{ time, level: "warn", message: "workerd/io/worker.c++:12: warning: slow" },
			{ time, level: "info", message: "workerd/server/server.c++:3: info: open" },
			{ time, level: "error", message: "kj/async.c++:9: failed: broken" },
			{ time, level: "error", message: "warning: by a Worker" },
		]);
	});

	it("leaves out addresses in the runtime's code", async () => {
		const { log, lines } = start("text");
		const stack =
			"stack: /opt/node_modules/workerd/bin/workerd@43e75b5 /opt/node_modules/workerd/bin/workerd@43e7000";
		await follow(log, `kj/async.c++:9: failed: broken\n${stack}\nstack: of plates\n`);
		expect(lines).toEqual(["err kj/async.c++:9: failed: broken", "err stack: of plates"]);
	});

	it("names the command that shows why an engine cannot be reached", async () => {
		const { log, lines } = start("text");
		const failure = {
			failure: "upstreamUnavailable",
			code: 7009,
			backend: "vllm",
			upstream: { backend: "vllm" },
		};
		await follow(log, `${JSON.stringify(failure)}\n`);
		expect(lines).toEqual([
			'err upstreamUnavailable 7009 backend=vllm upstream={"backend":"vllm"} (`ganglion doctor` shows why)',
		]);
	});

	it("escapes control characters, which callers put into names and headers", async () => {
		const record = JSON.stringify({ failure: "noRoute", gateway: "\u001b[2J\u009b31m\r\nforged\u202e" });
		const people = start("text");
		await follow(people.log, `${record}\nerror: \u001b]0;title\u0007\n`);
		expect(people.lines).toEqual([
			"err noRoute gateway=\\u001b[2J\\u009b31m\\u000d\\u000aforged\\u202e",
			"err error: \\u001b]0;title\\u0007",
		]);
		const json = start("json");
		await follow(json.log, `${record}\n`);
		expect(json.lines).toHaveLength(1);
		expect(json.lines[0]).toMatch(/^[\x20-\x7e]+$/);
		expect(JSON.parse(json.lines[0]?.slice("out ".length) ?? "")).toMatchObject({
			gateway: "\u001b[2J\u009b31m\r\nforged\u202e",
		});
	});

	it("shows the Worker's lines to people as one short line", async () => {
		const { log, lines } = start("text");
		await follow(log, `${FAILURE}\n`);
		expect(lines).toEqual([
			'err 12:30:05.123 upstreamUnavailable 7009 backend=vllm attempt=2 upstream={"status":500} (request r1)',
		]);
	});
});
