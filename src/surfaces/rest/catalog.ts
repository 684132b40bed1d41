/** The catalogue over REST: `…/ai/models/search`, `models/schema`, `tasks/search` and `authors/search`. */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { otherDialects } from "../../dialects/index.ts";
import { badInput } from "../../dialects/invalid-input.ts";
import { envelope } from "../../http/envelope.ts";
import { openRouterList } from "../../models/openrouter.ts";
import { authorList, SearchQuery, search, taskList } from "../../models/search.ts";
import { modelSuggestion } from "../../pipeline/model-suggestion.ts";
import { answer } from "../answer.ts";
import { AI } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";

export const catalogRoutes: readonly AppRoute[] = defineRoutes({ bases: [AI], tag: "Models" }, [
	{
		method: "GET",
		path: "/models/search",
		summary: "Searches the catalogue",
		query: SearchQuery,
		permission: "read",
		output: answer("modelsAnswer"),
		handler: searchModels,
	},
	{
		method: "GET",
		path: "/models/schema",
		summary: "Shows the inputs and outputs of a model as JSON Schema",
		query: () => z.object({ model: z.string() }),
		permission: "read",
		output: answer("modelSchemaAnswer"),
		handler: showSchema,
	},
	{
		method: "GET",
		path: "/tasks/search",
		summary: "Lists the tasks of models",
		permission: "read",
		output: answer("tasksAnswer"),
		handler: () => envelope(taskList()),
	},
	{
		method: "GET",
		path: "/authors/search",
		summary: "Lists the authors of models",
		permission: "read",
		output: answer("authorsAnswer"),
		handler: (_, { services }) => envelope(authorList(services.catalog)),
	},
]);

async function showSchema(c: Context, { services }: AppCall): Promise<Response> {
	const { catalog, routing } = services;
	const id = c.req.query("model");
	if (!id) throw badInput("required properties at '/' are 'model'");
	const model = catalog.find(id);
	if (!model) throw new AiError("noSuchModel", `No such model ${id} or task${modelSuggestion(id, services)}`);
	const { modelSchema } = await otherDialects();
	return envelope(modelSchema(model, routing.find(id)?.strict ?? true));
}

function searchModels(c: Context, { services: { catalog, now } }: AppCall): Response {
	const query = c.req.query();
	if (query.format === "openrouter") return Response.json(openRouterList(catalog, now()));
	const { result, result_info } = search(catalog, query, now());
	return envelope(result, { result_info });
}
