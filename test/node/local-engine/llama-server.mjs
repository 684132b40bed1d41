#!/usr/bin/env node
/**
 * Answers as llama-server in router mode does (recorded of build 11669), without inference. It refuses options and models that the real one
 * refuses. A file that does not begin with "GGUF" cannot be loaded. `system_fingerprint` says who has answered: llama-server, or the model's own
 * process, which ends without an answer if the message is "crash".
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";

// `import` would load the code of `fetch` with it (`scripts/http.ts`).
const { createServer } = createRequire(import.meta.url)("node:http");

const SWITCHES = ["--no-ui", "--offline", "--metrics"];
const OPTIONS = [
	"--host",
	"--port",
	"--models-preset",
	"--models-max",
	"--sleep-idle-seconds",
	"--log-colors",
	"--log-verbosity",
	"--threads-http",
];
const KEYS = [
	...["model", "mmproj", "ctx-size", "batch-size", "ubatch-size"],
	...["embeddings", "pooling", "reranking", "jinja", "parallel", "kv-unified"],
];
const CONTEXT = 8;

const args = process.argv.slice(2);
if (args.includes("--help")) {
	console.log("--models-preset PATH   path to INI file containing model presets for the router server");
	process.exit(0);
}
const options = {};
for (let at = 0; at < args.length; at++) {
	if (SWITCHES.includes(args[at])) continue;
	if (!OPTIONS.includes(args[at])) fail(`error: invalid argument: ${args[at]}`);
	options[args[at]] = args[++at];
}
const key = process.env.LLAMA_API_KEY;

function fail(message) {
	console.error(message);
	process.exit(1);
}

function readPreset() {
	const sections = new Map();
	let section;
	for (const line of readFileSync(options["--models-preset"], "utf8").split("\n")) {
		const [, name] = /^\[(.+)\]$/.exec(line) ?? [];
		const [, option, value] = /^([\w-]+) = (.*)$/.exec(line) ?? [];
		if (name !== undefined) {
			section = {};
			if (name !== "*") sections.set(name, section);
		} else if (option !== undefined && section) {
			if (!KEYS.includes(option)) fail(`unknown option in the preset: ${option}`);
			section[option] = value;
		}
	}
	return sections;
}

let models = readPreset();
/** Servers of models. In fact each one is a process. */
const own = new Map();
const states = new Map();
const followers = new Set();
/** Connections on which a model has answered. */
const answered = new WeakSet();
let loads = 0;

async function openOwn(model) {
	const listener = createServer((request, response) => {
		if (request.headers.authorization !== `Bearer ${key}`)
			return void response
				.writeHead(401)
				.end(JSON.stringify(error(401, "Invalid API Key", "authentication_error")));
		let text = "";
		request.on("data", (piece) => {
			text += piece;
		});
		request.once("end", () => {
			if (text.includes('"crash"')) return closeOwn(model);
			const answer = { ...answerTo(request.url, JSON.parse(text), model), system_fingerprint: "own" };
			response.writeHead(answer.error?.code ?? 200, { "content-type": "application/json" });
			response.end(JSON.stringify(answer));
		});
	});
	own.set(model, listener);
	listener.listen(0, "127.0.0.1");
	await once(listener, "listening");
	return listener.address().port;
}

function closeOwn(model) {
	own.get(model)?.close();
	own.get(model)?.closeAllConnections();
	own.delete(model);
}

function change(model, status, exitCode, port) {
	if (status === "unloaded") closeOwn(model);
	states.set(model, {
		...{ value: status, ...(exitCode && { exit_code: exitCode, failed: true }) },
		...(port && { args: ["llama-server", "--port", String(port), "--alias", model] }),
	});
	const data = { status, ...(exitCode !== undefined && { exit_code: exitCode }) };
	for (const follower of followers)
		follower.write(`data: ${JSON.stringify({ model, event: "status_change", data })}\n\n`);
}

async function load(model) {
	if (states.get(model)?.value === "loaded" && own.has(model)) return true;
	change(model, "loading");
	let text = "";
	try {
		text = readFileSync(models.get(model).model, "latin1");
	} catch {}
	if (!text.startsWith("GGUF")) {
		change(model, "unloaded", 1);
		return false;
	}
	const loaded = [...states].filter(([, { value }]) => value === "loaded").map(([name]) => name);
	if (loaded.length >= (Number(options["--models-max"]) || Number.POSITIVE_INFINITY))
		change(loaded[0], "unloaded", 0);
	loads += 1;
	change(model, "loaded", undefined, await openOwn(model));
	return true;
}

const error = (code, message, type) => ({ error: { code, message, type } });
const tokensIn = (text) => text.split(" ").filter(Boolean);

function answerTo(path, body, model) {
	const section = models.get(model);
	switch (path) {
		case "/v1/chat/completions":
			return {
				id: "chatcmpl-1",
				object: "chat.completion",
				created: 1,
				model,
				choices: [
					{
						index: 0,
						finish_reason: "stop",
						message: { role: "assistant", content: `${basename(section.model)} of process ${process.pid}` },
					},
				],
				usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
			};
		case "/v1/embeddings": {
			const texts = [body.input].flat();
			const rows = texts.map((text) => (Array.isArray(text) ? text : tokensIn(text)));
			const long = rows.find((row) => row.length > CONTEXT);
			if (long) return tooLong(long.length);
			// The first number says how vectors are pooled, the second one how many tokens were read.
			const data = rows.map((row, index) => ({
				index,
				object: "embedding",
				embedding: [section.pooling === "cls" ? 1 : 0, row.length],
			}));
			return { object: "list", model, data, usage: { prompt_tokens: 1, total_tokens: 1 } };
		}
		default:
			return error(404, "File Not Found", "not_found_error");
	}
}

const tooLong = (tokens) =>
	error(
		500,
		`input (${tokens} tokens) is too large to process. increase the physical batch size (current batch size: ${CONTEXT})`,
		"server_error",
	);

const server = createServer(async (request, response) => {
	const send = (status, body) => {
		response.writeHead(status, { "content-type": "application/json" });
		response.end(JSON.stringify(body));
	};
	const { pathname, searchParams } = new URL(request.url, "http://host");
	if (pathname === "/health") return send(200, { status: "ok" });
	if (request.headers.authorization !== `Bearer ${key}`)
		return send(401, error(401, "Invalid API Key", "authentication_error"));
	if (pathname === "/models/sse") {
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.flushHeaders();
		followers.add(response);
		response.once("close", () => followers.delete(response));
		return;
	}
	if (pathname === "/models") {
		if (searchParams.has("reload")) models = readPreset();
		return send(200, {
			object: "list",
			loads,
			data: [...models.keys()].map((id) => ({ id, status: states.get(id) ?? { value: "unloaded" } })),
		});
	}
	// The answer of a model says that the connection is kept ("Keep-Alive: timeout=5, max=100"), and then it is closed.
	if (answered.has(request.socket)) return void request.socket.destroy();
	let text = "";
	for await (const piece of request) text += piece;
	const body = JSON.parse(text);
	if (!models.has(body.model))
		return send(400, error(400, `model '${body.model}' not found`, "invalid_request_error"));
	if (pathname === "/models/unload") {
		change(body.model, "unloaded", 0);
		return send(200, { success: true });
	}
	const isLoaded = await load(body.model);
	if (pathname === "/models/load") return send(200, { success: true });
	if (!isLoaded) return send(500, error(500, `model name=${body.model} failed to load`, "server_error"));
	if (pathname === "/slow") return;
	answered.add(request.socket);
	const answer = { ...answerTo(pathname, body, body.model), system_fingerprint: "router" };
	send(answer.error?.code ?? 200, answer);
});

for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
server.listen(Number(options["--port"]), options["--host"], () =>
	console.log(`listening on http://${options["--host"]}:${options["--port"]}`),
);
