/** The routes of the room. */
import * as z from "zod";
import { validate } from "../../../src/dialects/validation/validation.ts";
import { readJson } from "../../../src/http/body.ts";
import { envelope } from "../../../src/http/envelope.ts";
import { defineRoutes, type HttpRoute } from "../../../src/http/route.ts";
import { AI } from "../../../src/surfaces/bases.ts";
import { opinions } from "./ask.ts";
import type { OpinionServices } from "./services.ts";

const Body = z.object({ prompt: z.string().min(1), models: z.array(z.string()).min(1).max(4) });

export const opinionRoutes = (room: Pick<OpinionServices, "lastOpinions">): HttpRoute[] =>
	defineRoutes({ bases: [AI], tag: "Second opinion" }, [
		{
			method: "POST",
			path: "/second-opinion",
			summary: "Asks several models the same",
			permission: "run",
			input: { type: "application/json", schema: Body },
			async handler(c, { caller, services }) {
				const { prompt, models } = validate(Body, await readJson(c.req.raw, services));
				const question = { caller, prompt, signal: c.req.raw.signal };
				return envelope(await opinions(models, question, { ...services, ...room }));
			},
		},
		{
			method: "GET",
			path: "/second-opinion/last",
			summary: "Shows the last opinions",
			permission: "read",
			handler: (_, { caller }) => envelope(room.lastOpinions.of(caller.account)),
		},
	]);
