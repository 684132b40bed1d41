/** Engines of the test's own, on ports that are free. */
import { createServer, type Server } from "node:http";

export interface Fake {
	port: number;
	/** Paths that were asked for, in order. */
	asked: string[];
}

const servers: Server[] = [];

/** Answers each path with its JSON, or text as it is; any other with 404. `hang`: never. */
export async function fake(routes: Record<string, unknown> | "hang"): Promise<Fake> {
	const asked: string[] = [];
	const server = createServer((request, response) => {
		asked.push(request.url ?? "");
		if (routes === "hang") return;
		const body = routes[request.url ?? ""];
		if (body === undefined) response.writeHead(404).end('{"error":"Not Found"}');
		else if (body instanceof URL) response.writeHead(302, { location: body.href }).end();
		else {
			response.writeHead(200, { "content-type": "application/json" });
			response.end(typeof body === "string" ? body : JSON.stringify(body));
		}
	});
	servers.push(server);
	await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
	const address = server.address();
	if (typeof address !== "object" || address === null) throw new Error("no port");
	return { port: address.port, asked };
}

export function stopFakes(): void {
	for (const server of servers.splice(0)) {
		server.closeAllConnections();
		server.close();
	}
}

const listed = (owned_by: string, ...ids: string[]) => ({
	object: "list",
	data: ids.map((id) => ({ id, object: "model", owned_by })),
});

interface Tag {
	name: string;
	size?: string;
	families?: string[];
	remote_host?: string;
}

export const ollama = (...tags: Tag[]) =>
	fake({
		"/v1/models": listed("library", ...tags.map(({ name }) => name)),
		"/api/version": { version: "0.12.6" },
		"/api/tags": {
			models: tags.map(({ name, size, families, remote_host }) => ({
				name,
				model: name,
				details: { format: "gguf", families: families ?? null, parameter_size: size ?? "" },
				...(remote_host && { remote_host }),
			})),
		},
	});

export const llamaCpp = (id: string, vision: boolean, n_params?: number) =>
	fake({
		"/v1/models": { data: [{ id, owned_by: "llamacpp", meta: { n_params } }] },
		"/props": { modalities: { vision, audio: false } },
	});

export const vllm = (...ids: string[]) => fake({ "/v1/models": listed("vllm", ...ids) });

export const lmStudio = (...models: [id: string, type: string][]) =>
	fake({
		"/v1/models": listed("organization_owner", ...models.map(([id]) => id)),
		// What it says of routes that it does not have.
		"/api/version": { error: "Unexpected endpoint or method. (GET /api/version)" },
		"/api/v0/models": { data: models.map(([id, type]) => ({ id, type, state: "not-loaded" })) },
	});

/** A router of llama.cpp: the options with which it starts each model, and what the model reads. */
export const llamaRouter = (...models: [id: string, args: string[], modalities?: string[]][]) =>
	fake({
		"/v1/models": {
			data: models.map(([id, args, input_modalities = ["text"]]) => ({
				id,
				owned_by: "llamacpp",
				in_cache: false,
				path: `/models/${id}.gguf`,
				status: { value: "unloaded", args: ["llama-server", "--port", "0", ...args] },
				architecture: { input_modalities, output_modalities: ["text"] },
			})),
		},
	});

export const dockerModelRunner = (...ids: string[]) =>
	fake({ "/engines/v1/models": listed("docker", ...ids) });
