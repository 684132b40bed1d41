/**
 * The built Worker with a clock that a scenario sets (`/soak/clock?ms=…`, ahead of the machine's clock) and a route for RPC calls
 * (`/soak/rpc/{account}/{model}`). It imports `dist/worker/index.js` instead of `src/index.ts`.
 */
import worker from "../../src/index.ts";
import { setClock } from "./shifted-clock.ts";

export * from "../../src/index.ts";

interface Entrypoint {
	run(model: string, inputs: object): Promise<unknown>;
}

/** The runtime's access to an entrypoint of the same Worker. */
interface WithExports {
	exports: { AI(options: { props: { account: string } }): Entrypoint };
}

export default {
	async fetch(request: Request, _: Env, context: ExecutionContext): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		if (pathname === "/soak/clock") {
			setClock(Number(searchParams.get("ms")));
			return new Response(null, { status: 204 });
		}
		const [, account, model] = /^\/soak\/rpc\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
		if (account === undefined || model === undefined) return worker.fetch(request);
		const ai = (context as unknown as WithExports).exports.AI({ props: { account } });
		const answer = await ai.run(model, (await request.json()) as object);
		return answer instanceof ReadableStream ? new Response(answer) : Response.json(answer);
	},
};
