/**
 * `GET …/ai/responses/export`: all stored responses and conversations of the account with their items, as JSON lines. Like the complete
 * contents of logs, they need the permission to write.
 */
import { PulledStream } from "../../streams/pulled-stream.ts";
import { AI } from "../bases.ts";
import { type AppRoute, defineRoutes } from "../route.ts";

const JSON_LINES = "application/jsonl";

export const responseExportRoutes: readonly AppRoute[] = defineRoutes({ bases: [AI], tag: "Responses" }, [
	{
		method: "GET",
		path: "/responses/export",
		summary: "Exports all stored responses and conversations as JSON lines",
		permission: "write",
		output: { type: JSON_LINES },
		async handler(_, { caller, services }) {
			const lines = await services.storedResponses.call(caller.account, (store) => store.export());
			return new Response(PulledStream.of(lines), {
				headers: { "content-type": JSON_LINES, "cache-control": "no-store" },
			});
		},
	},
]);
