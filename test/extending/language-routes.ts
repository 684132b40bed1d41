/** A route: `GET …/ai/languages`. */
import * as z from "zod";
import { envelope } from "../../src/http/envelope.ts";
import { defineRoutes, type HttpRoute } from "../../src/http/route.ts";
import { enveloped } from "../../src/surfaces/answers.ts";
import { AI } from "../../src/surfaces/bases.ts";

export const languageRoutes: readonly HttpRoute[] = defineRoutes({ bases: [AI], tag: "Languages" }, [
	{
		method: "GET",
		path: "/languages",
		summary: "Lists the languages that are detected",
		permission: "read",
		output: enveloped(z.array(z.string())),
		handler: () => envelope(["en", "fr"]),
	},
]);
