/** What the runtime's own class does beyond `probe`: every option of `run`, and the failures that it raises itself. */
import { type Last, runOf, thrownBy } from "./probe.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const name = "Your name is Alice.";
const inputs = { prompt: "Reply with exactly: Your name is Alice." };

const stream = () => ({ body: new Response("sound").body, contentType: "audio/mpeg" });

/** Members that the published types leave out. */
interface Untyped {
	fetch: typeof fetch;
	getLogs(): unknown[];
	gateway(id: string, options?: { beta?: boolean }): AiGateway;
	aiSearch(): { list(): Promise<unknown> };
}

export async function members(ai: Ai & Last & Untyped) {
	const run = runOf(ai);
	const answer = async (options: object) => {
		const { response } = (await run(LLAMA, inputs, options)) as { response: string };
		return response;
	};
	const start = [ai.lastRequestId, ai.lastRequestHttpStatusCode, ai.lastRequestInternalStatusCode];
	const gone = AbortSignal.abort();
	const answers = {
		gateway: await answer({ gateway: { id: "default", skipCache: true, metadata: { team: 1 } } }),
		prefix: await answer({ prefix: "team" }),
		extraHeaders: await answer({ extraHeaders: { "cf-consn-model-id": "@cf/meta/nothing" } }),
		sessionOptions: await answer({ sessionOptions: { extraHeaders: { "x-session-affinity": "a" } } }),
		tags: await answer({ tags: ["a"], unknown: 1 }),
	};
	const failures = {
		aborted: (await thrownBy(() => run(LLAMA, inputs, { signal: gone }))).name,
		input: await thrownBy(() => run(LLAMA, { prompt: 1 })),
		queue: await thrownBy(() => run(LLAMA, inputs, { queueRequest: true })),
		streams: await thrownBy(() => run("@cf/deepgram/nova-3", { a: stream(), b: stream() })),
		untyped: await thrownBy(() => run("@cf/deepgram/nova-3", { audio: { body: stream().body } })),
		routed: await thrownBy(() =>
			run("@cf/deepgram/nova-3", { audio: stream() }, { gateway: { id: "default" } }),
		),
		models: await thrownBy(() => ai.models({ per_page: 0 })),
	};
	const ended = [ai.lastRequestHttpStatusCode, ai.lastRequestInternalStatusCode];
	const image = (await run("@cf/stabilityai/stable-diffusion-xl-base-1.0", {
		prompt: "a fox",
		width: 256,
		height: 256,
	})) as ReadableStream;
	const form = new FormData();
	form.set("prompt", "a fox");
	form.set("width", "256");
	form.set("height", "256");
	const painted = await run("@cf/black-forest-labs/flux-2-dev", {
		multipart: { body: form, contentType: "multipart/form-data" },
	});
	const direct = await ai.fetch("https://workers-binding.ai/ai-api/models/search?per_page=2");
	return {
		start,
		answers,
		failures,
		ended,
		// A success leaves the last internal code where it is.
		after: [ai.lastRequestHttpStatusCode, ai.lastRequestInternalStatusCode],
		png: [...new Uint8Array(await new Response(image).arrayBuffer()).slice(1, 4)],
		painted: Object.keys(painted as object),
		direct: ((await direct.json()) as { result: unknown[] }).result.length,
		logs: ai.getLogs(),
		markdown: await markdown(ai),
		routes: await routes(ai.gateway("default")),
		beta: await routes(ai.gateway("default", { beta: true })),
		search: await ai
			.aiSearch()
			.list()
			.then(
				() => "listed",
				({ message }: Error) => message,
			),
		socket: await socket(ai),
	};
}

async function markdown(ai: Ai): Promise<string[]> {
	const page = { name: "a.html", blob: new Blob(["<h1>Hi</h1><p>there"], { type: "text/html" }) };
	const [many] = await ai.toMarkdown([page]);
	const one = await ai.toMarkdown(page);
	return [many, one].map((file) => (file && "data" in file ? file.data : JSON.stringify(file)));
}

/** The routes of a gateway, among them one that is neither GET nor POST. */
async function routes(gateway: AiGateway): Promise<unknown[]> {
	const universal = { provider: "workers-ai", endpoint: LLAMA, headers: {}, query: inputs } as const;
	const answer = await gateway.run(universal);
	const noLog = await thrownBy(() => gateway.patchLog("none", { score: 1 }));
	const { hostname, pathname } = new URL(await gateway.getUrl("openai"));
	// The origin is the session's own, or of no host at all.
	const isLocal = /^(?:127\.0\.0\.1|localhost|ganglion\.invalid)$/.test(hostname);
	return [answer.status, (await answer.text()).includes(name), noLog.name, isLocal, pathname];
}

/** The first frame of a live model. */
async function socket(ai: Ai): Promise<unknown> {
	const response = (await runOf(ai)(
		"@cf/deepgram/flux",
		{ encoding: "linear16", sample_rate: "16000" },
		{ websocket: true },
	)) as Response;
	const { webSocket } = response;
	if (!webSocket) return response.text();
	const frame = new Promise<string>((done) => {
		webSocket.addEventListener("message", ({ data }) => done(String(data)), { once: true });
	});
	webSocket.accept();
	const { type } = JSON.parse(await frame);
	webSocket.close(1000);
	return [response.status, type];
}

export const MEMBERS: Awaited<ReturnType<typeof members>> = {
	start: [null, null, null],
	answers: { gateway: name, prefix: name, extraHeaders: name, sessionOptions: name, tags: name },
	failures: {
		aborted: "AbortError",
		input: {
			name: "AiError",
			message:
				"5006: Error: oneOf at '/' not met, 0 matches: Type mismatch of '/prompt', 'string' not in 'number','integer', required properties at '/' are 'messages'",
		},
		queue: {
			name: "AiError",
			message:
				"8001: Invalid input: the asynchronous queue (queueRequest) takes the inputs {requests: […]} or {request_id}",
		},
		streams: {
			name: "AiInternalError",
			message: "Multiple ReadableStreams are not supported. Found streams in keys: [a, b]",
		},
		untyped: { name: "AiInternalError", message: "Content-Type is required with ReadableStream inputs" },
		routed: { name: "AiInternalError", message: "AI Gateway does not support ReadableStreams yet." },
		models: {
			name: "AiInternalError",
			message: "AiError: Bad input: Error: 'per_page' must be a whole number from 1 to 1000",
		},
	},
	ended: [400, 8001],
	after: [200, 8001],
	png: [0x50, 0x4e, 0x47],
	painted: ["image"],
	direct: 2,
	logs: [],
	markdown: ["# Hi\n\nthere\n", "# Hi\n\nthere\n"],
	routes: [200, true, "AiGatewayLogNotFound", true, "/v1/local/default/openai"],
	beta: [200, true, "AiGatewayLogNotFound", true, "/v1/local/default/openai"],
	search: "listed",
	socket: [101, "Connected"],
};
