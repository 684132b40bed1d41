/**
 * Load from `wrk` to an engine of `nginx`, if both are installed. They cost almost nothing, so the core that they share is never the
 * limit; the engine and the load of the other rows run on Node, whose small reads of a large body cost the contenders CPU.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { stop } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { listening } from "../../scripts/workerd.ts";
import { Chunks } from "./chunks.ts";
import { COMPLETION } from "./completion.ts";
import { LOAD_CPU } from "./contenders.ts";
import { CHAT, type Context, STREAMED_CHAT } from "./context.ts";
import type { Loop } from "./load.ts";
import { against } from "./ratios.ts";
import type { Row } from "./table.ts";

const run = promisify(execFile);

export const PROMPT_SIZES = [
	["100 KB", 100_000],
	["1 MB", 1_000_000],
] as const;

export const promptOf = (bytes: number): object => ({
	messages: [{ role: "user", content: "All work and no play. ".repeat(bytes / 22) }],
});

export async function lean(context: Context): Promise<Row[]> {
	const note = versions();
	if (note === undefined) {
		context.say("  nginx or wrk is not installed: no row with a lean engine and a lean load");
		return [];
	}
	const { folder } = context.field;
	const stream = Buffer.concat(new Chunks("bench/bulk").all);
	const engine = await leanEngine(folder, JSON.stringify(COMPLETION), stream);
	const common = { options: { upstream: engine.url }, note, loader: wrkLoader(folder) };
	const rows: Row[] = [];
	try {
		for (const [label, body, limits] of [
			["small JSON", CHAT, {}],
			["100 KB prompt", promptOf(100_000), { connections: 4, warmUpAnswers: 200 }],
			["1 MB prompt", promptOf(1_000_000), { connections: 4, warmUpAnswers: 100, bar: 3, stretch: 2 }],
		] as const)
			rows.push(
				...(await against(context, {
					label: `${label}, lean engine and load: CPU a request / floor`,
					ask: (contender) => contender.ask("json", body),
					...common,
					...limits,
				})),
			);
		rows.push(
			...(await against(context, {
				label: "stream of 200 events in one piece, same dialect, lean engine and load: CPU an answer / floor",
				ask: (contender) => contender.ask("bulk", STREAMED_CHAT),
				...common,
				...{ warmUpAnswers: 500, bar: 3.2 },
			})),
		);
		return rows;
	} finally {
		await engine.stop();
	}
}

/** `undefined` if one of the two is not installed. */
function versions(): string | undefined {
	const [nginx, wrk] = [
		/nginx\/(\S+)/.exec(output("nginx", "-v"))?.[1],
		/^wrk (\S+)/m.exec(output("wrk", "-v"))?.[1],
	];
	return nginx && wrk && `nginx ${nginx}, wrk ${wrk}`;
}

/** The text of both streams: these commands print their version to standard error, or with an exit code of 1. */
function output(command: string, ...args: string[]): string {
	const { stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
	return `${stdout ?? ""}\n${stderr ?? ""}`;
}

/** Answers with one body, or with one stream for the mode `bulk`, after it has read the request's own body. */
async function leanEngine(
	folder: string,
	body: string,
	stream: Buffer,
): Promise<{ url: string; stop(): Promise<void> }> {
	const own = mkdtempSync(join(folder, "nginx-"));
	mkdirSync(join(own, "logs"));
	writeFileSync(join(own, "stream"), stream);
	const [port, answerPort] = [await freePort(), await freePort()];
	writeFileSync(
		join(own, "nginx.conf"),
		`daemon off;
# Only for a bench of root: workers of another user cannot read the folder.
user root;
worker_processes 1;
worker_cpu_affinity ${"1".padEnd(LOAD_CPU + 1, "0")};
pid ${join(own, "nginx.pid")};
error_log ${join(own, "logs/error.log")} crit;
events { worker_connections 1024; }
http {
	access_log off;
	client_max_body_size 0;
	client_body_temp_path ${own};
	keepalive_requests 1000000000;
	keepalive_timeout 600s;
	default_type application/json;
	client_body_buffer_size 4m;
	server {
		listen 127.0.0.1:${answerPort};
		location / { return 200 '${body}'; }
		location /bulk/ {
			root ${own};
			rewrite ^ /stream break;
			types { }
			default_type text/event-stream;
			# Includes have no known length, so the stream has none, as that of a real engine.
			ssi on;
			ssi_types text/event-stream;
		}
	}
	upstream answer {
		server 127.0.0.1:${answerPort};
		keepalive 64;
	}
	# The proxy reads the whole request before it passes it on, without its body.
	server {
		listen 127.0.0.1:${port};
		location / {
			proxy_pass http://answer;
			proxy_http_version 1.1;
			proxy_set_header connection "";
			proxy_set_header content-length "";
			proxy_pass_request_body off;
			proxy_method GET;
		}
	}
}
`,
	);
	const child = spawn(
		"nginx",
		["-p", own, "-c", join(own, "nginx.conf"), "-e", join(own, "logs/error.log")],
		{
			stdio: "ignore",
		},
	);
	await listening({ port }, child);
	return { url: `http://127.0.0.1:${port}`, stop: () => stop(child) };
}

const SCRIPT = `
wrk.method = "POST"
local file = io.open(os.getenv("BODY"), "rb")
wrk.body = file:read("*a")
file:close()
for line in io.lines(os.getenv("HEADERS")) do
	local name, value = line:match("^(.-): (.*)$")
	wrk.headers[name] = value
end
function done(summary, latency, requests)
	local errors = summary.errors
	io.write(string.format("answers %d failures %d\\n", summary.requests,
		errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
`;

const wrkLoader = (folder: string) => (loops: readonly Loop[], milliseconds: number) =>
	Promise.all(loops.map((loop) => wrk(folder, loop, milliseconds)));

/** Loads a contender for a time, and counts its answers. Throws if one of them failed. */
async function wrk(folder: string, loop: Loop, milliseconds: number): Promise<number> {
	const [ask] = [loop.ask].flat();
	if (!ask) throw new Error("wrk needs a request");
	const own = mkdtempSync(join(folder, "wrk-"));
	const files = { script: join(own, "post.lua"), BODY: join(own, "body"), HEADERS: join(own, "headers") };
	writeFileSync(files.script, SCRIPT);
	writeFileSync(files.BODY, ask.body);
	const lines = Object.entries({ "content-type": "application/json", ...ask.headers });
	writeFileSync(files.HEADERS, lines.map(([header, value]) => `${header}: ${value}\n`).join(""));
	const seconds = Math.max(1, Math.round(milliseconds / 1000));
	const { stdout } = await run(
		"taskset",
		[
			...["-c", String(LOAD_CPU), "wrk", "-t1", `-c${loop.connections}`, `-d${seconds}s`, "--timeout", "10s"],
			...["-s", files.script, ask.url],
		],
		{ env: { ...process.env, BODY: files.BODY, HEADERS: files.HEADERS } },
	);
	const [, answers = "0", failures = "0"] = /answers (\d+) failures (\d+)/.exec(stdout) ?? [];
	if (Number(failures) > 0 || answers === "0")
		throw new Error(`wrk counted ${failures} failures:\n${stdout}`);
	return Number(answers);
}
