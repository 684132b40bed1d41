/** `env.AI` of a Worker, as Miniflare gives it to Node, with the gateway behind it. */
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import type { Context } from "./client.ts";

const PLUGIN = join(import.meta.dirname, "../../../dist/miniflare/index.js");
const COMPATIBILITY_DATE = "2026-10-01";
/** By the token. They end with the process. */
const bindings = new Map<string, Promise<object>>();

export function aiBinding({ account, origin, token }: Context): Promise<object> {
	const binding = bindings.get(token) ?? open({ account, origin, token });
	bindings.set(token, binding);
	return binding;
}

async function open({
	account,
	origin,
	token,
}: Pick<Context, "account" | "origin" | "token">): Promise<object> {
	const variable = `GANGLION_TOKEN_${bindings.size}`;
	process.env[variable] = token;
	const miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			modules: true,
			script: "export default { fetch: () => new Response() };",
			compatibilityDate: COMPATIBILITY_DATE,
			unsafeBindings: [
				{
					name: "AI",
					type: "ai",
					plugin: { package: PLUGIN, name: "ganglion" },
					options: { url: origin, account, token: variable },
				},
			] as never,
		}),
	);
	const { AI } = await miniflare.getBindings<{ AI: object }>();
	return AI;
}
