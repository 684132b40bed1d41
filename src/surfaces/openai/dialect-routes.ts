/** The declarations of routes that have one dialect for all models: with a JSON body, or with a form. */
import type { Context } from "hono";
import { isRecord } from "../../core/json.ts";
import { badInput } from "../../dialects/invalid-input.ts";
import { parseMultipart } from "../../dialects/media/multipart.ts";
import { onlyFor, requireModel } from "../../dialects/route-dialect.ts";
import { readBody, readJson } from "../../http/body.ts";
import { BY_MODEL } from "../../http/route.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { infer, type OpenaiRoute } from "./openai-route.ts";

/** `named`: the model, if the path names it. Absent: the body does. */
export type RunRoute = (c: Context, call: AppCall, named?: string) => Promise<Response>;

/** Runs a request with a JSON body. */
export function runJson(route: OpenaiRoute): RunRoute {
	const dialect = onlyFor(route);
	return async (c, call, named) => {
		const reading = readJson(c.req.raw, call.services).then((sent) =>
			requireModel(withModel(sent, named, route)),
		);
		if (route.intercept) {
			// A request that cannot be read has a log in its gateway, too.
			const fields = await reading.catch(() => undefined);
			const intercepted = fields && route.intercept(c, call, fields);
			if (intercepted) return intercepted;
		}
		return infer(c, call, {
			route,
			dialect,
			read: async () => {
				const sent = await reading;
				const fields = route.withHeaders?.(sent, c.req.raw.headers) ?? sent;
				return { model: route.modelOf?.(sent.model) ?? sent.model, inputs: { fields } };
			},
		});
	};
}

/** The model of the path, that of the body, or that of the route. */
function withModel(sent: unknown, named: string | undefined, { defaultModel }: OpenaiRoute): unknown {
	if (!isRecord(sent)) return sent;
	const model = named ?? (sent.model == null ? defaultModel : undefined);
	return model === undefined ? sent : { ...sent, model };
}

/** Runs a request with a form. */
export function runForm(route: OpenaiRoute): RunRoute {
	const dialect = onlyFor(route);
	return (c, call, named) =>
		infer(c, call, {
			route,
			dialect,
			read: async () => {
				const { limits } = call.services;
				const contentType = c.req.header("content-type") ?? "";
				const bytes = await readBody(c.req.raw, limits.uploadBytes, call.services);
				const model = named ?? (await parseMultipart(bytes, contentType)).text("model");
				if (!model) throw badInput("required properties at '/' are 'model'");
				return { model, inputs: { fields: {}, body: { bytes, contentType } } };
			},
		});
}

export function dialectRoute(path: string, route: OpenaiRoute): AppRouteDeclaration {
	return {
		method: "POST",
		path,
		summary: route.summary,
		permission: "run",
		lazy: true,
		...(route.credentials && { credentials: route.credentials }),
		input: { ...BY_MODEL, example: route.example },
		output: BY_MODEL,
		handler: runJson(route),
	};
}

export function formRoute(path: string, route: OpenaiRoute): AppRouteDeclaration {
	return {
		...dialectRoute(path, route),
		input: { type: "multipart/form-data", schema: "by-model", example: route.example },
		handler: runForm(route),
	};
}
