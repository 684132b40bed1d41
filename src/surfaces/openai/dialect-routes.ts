/** The declarations of routes that have one dialect for all models: with a JSON body, or with a form. */
import { badInput } from "../../dialects/invalid-input.ts";
import { parseMultipart } from "../../dialects/media/multipart.ts";
import { readBody, readJson } from "../../http/body.ts";
import { BY_MODEL, type RouteDeclaration } from "../../http/route.ts";
import { infer, type OpenaiRoute } from "./openai-route.ts";
import { onlyFor, requireModel } from "./route-dialect.ts";

export function dialectRoute(path: string, route: OpenaiRoute): RouteDeclaration {
	const dialect = onlyFor(route);
	return {
		method: "POST",
		path,
		summary: route.summary,
		permission: "run",
		lazy: true,
		...(route.credentials && { credentials: route.credentials }),
		input: { ...BY_MODEL, example: route.example },
		output: BY_MODEL,
		async handler(c, call) {
			const reading = readJson(c.req.raw, call.services).then(requireModel);
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
		},
	};
}

export const formRoute = (path: string, route: OpenaiRoute): RouteDeclaration => ({
	...dialectRoute(path, route),
	input: { type: "multipart/form-data", schema: "by-model", example: route.example },
	handler: (c, call) =>
		infer(c, call, {
			route,
			dialect: onlyFor(route),
			read: async () => {
				const { limits } = call.services;
				const contentType = c.req.header("content-type") ?? "";
				const bytes = await readBody(c.req.raw, limits.uploadBytes, call.services);
				const model = (await parseMultipart(bytes, contentType)).text("model");
				if (!model) throw badInput("required properties at '/' are 'model'");
				return { model, inputs: { fields: {}, body: { bytes, contentType } } };
			},
		}),
});
