/** Routes of the jobs of an AI Search instance. A job indexes all items again. */
import type { Context } from "hono";
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import type { AppRouteDeclaration } from "../route.ts";
import { instanceCall, JSON_INPUT, PageQuery, pageEnvelope, queryOf } from "./call.ts";
import { cancelJob, jobLogs, listJobs, NewJob, requireJob, startJob } from "./job-operations.ts";
import { jobJson, jobLogJson } from "./json.ts";

const JobAction = lazy(() => z.object({ action: z.literal("cancel") }));

const jobIn = (c: Context): string => pathParameter(c, "job");

export const jobRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "/:instance/jobs",
		permission: "search-read",
		summary: "Lists the jobs of an AI Search instance",
		query: () => PageQuery(),
		output: answer("searchJobsAnswer"),
		async handler(c, call) {
			const query = queryOf(PageQuery(), c);
			return pageEnvelope(await listJobs(query, await instanceCall(c, call)), query, jobJson);
		},
	},
	{
		method: "POST",
		path: "/:instance/jobs",
		permission: "search-write",
		summary: "Indexes all items of an AI Search instance again",
		input: { ...JSON_INPUT, schema: NewJob, example: { description: "New documents" } },
		output: answer("searchJobAnswer"),
		async handler(c, call) {
			// Clients send no body without a description.
			const hasBody = c.req.raw.body !== null && c.req.header("content-length") !== "0";
			const { description } = hasBody ? await readFields(NewJob(), c.req.raw, call.services) : {};
			return envelope(jobJson(await startJob(description, await instanceCall(c, call))));
		},
	},
	{
		method: "GET",
		path: "/:instance/jobs/:job",
		permission: "search-read",
		summary: "Shows a job of an AI Search instance",
		output: answer("searchJobAnswer"),
		handler: async (c, call) => envelope(jobJson(await requireJob(jobIn(c), await instanceCall(c, call)))),
	},
	{
		method: "PATCH",
		path: "/:instance/jobs/:job",
		permission: "search-write",
		summary: "Cancels a job of an AI Search instance",
		input: { ...JSON_INPUT, schema: JobAction, example: { action: "cancel" } },
		output: answer("searchJobAnswer"),
		async handler(c, call) {
			await readFields(JobAction(), c.req.raw, call.services);
			return envelope(jobJson(await cancelJob(jobIn(c), await instanceCall(c, call))));
		},
	},
	{
		method: "GET",
		path: "/:instance/jobs/:job/logs",
		permission: "search-read",
		summary: "Shows the log of a job",
		query: () => PageQuery(),
		output: answer("searchJobLogsAnswer"),
		async handler(c, call) {
			const query = queryOf(PageQuery(), c);
			const page = await jobLogs(jobIn(c), query, await instanceCall(c, call));
			return pageEnvelope(page, query, jobLogJson);
		},
	},
];
