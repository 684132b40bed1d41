/**
 * Sends what the runtime's class asks to a gateway that already runs, by the route that its REST API has for it. Knows
 * no paths of the wire: the method, the headers and the body go as they came.
 */
interface ForwarderEnv {
	/** `…/ai/run/proxy` */
	PROXY: string;
	TOKEN?: string;
}

export default {
	async fetch(request: Request, env: ForwarderEnv): Promise<Response> {
		const headers = new Headers(request.headers);
		headers.set("x-forwarded", request.url);
		if (env.TOKEN !== undefined) headers.set("authorization", `Bearer ${env.TOKEN}`);
		try {
			return await fetch(new Request(env.PROXY, request), { headers, redirect: "manual" });
		} catch (error) {
			if (request.signal.aborted) throw error;
			return unreachable(new URL(env.PROXY).origin);
		}
	},
} satisfies ExportedHandler<ForwarderEnv>;

/** Has the fields that `run` reads of a failure, and those that the other members read. */
function unreachable(origin: string): Response {
	const description = `No gateway answers on ${origin}: is it running?`;
	const body = {
		internalCode: 7009,
		name: "AiError",
		description,
		message: `AiError: ${description}`,
		httpCode: 502,
		errors: [{ code: 7009, message: description }],
		success: false,
	};
	return new Response(JSON.stringify(body), {
		status: body.httpCode,
		headers: { "content-type": "application/json" },
	});
}
