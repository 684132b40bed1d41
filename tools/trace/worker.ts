/**
 * The Worker with two routes of the trace: `/trace/entered` answers with the functions entered since the last call and their calls, in
 * the order of their first calls, and `/trace/rpc/{account}/{model}` calls the entrypoint `AI` with the inputs in its body.
 */
import worker from "../../src/index.ts";
import { ENTERED } from "./entered.ts";

export * from "../../src/index.ts";

interface WithExports {
	exports: {
		AI(options: { props: { account: string } }): { run(model: string, inputs: object): Promise<unknown> };
	};
}

const entered = new Map<string, number>();
Object.assign(globalThis, {
	[ENTERED]: { add: (name: string) => entered.set(name, (entered.get(name) ?? 0) + 1) },
});

export default {
	async fetch(request: Request, _: Env, context: ExecutionContext): Promise<Response> {
		const { pathname } = new URL(request.url);
		if (pathname === "/trace/entered") {
			const calls = [...entered];
			entered.clear();
			return Response.json(calls);
		}
		const [, account, model] = /^\/trace\/rpc\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
		if (account === undefined || model === undefined) return worker.fetch(request);
		const ai = (context as unknown as WithExports).exports.AI({ props: { account } });
		try {
			return Response.json(await ai.run(model, (await request.json()) as object));
		} catch (error) {
			return new Response(String(error), { status: 400 });
		}
	},
};
