/**
 * Routes of the tokens of AI Search. In the product, an instance calls models and sources with such a token. Here each call has the
 * permissions of its caller, so an account has exactly one token, which stands for that and cannot be changed. Clients list tokens before they
 * create an instance. A key that is sent is not stored.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { answer } from "../answer.ts";
import type { AppRouteDeclaration } from "../route.ts";
import { PageQuery, pageEnvelope, queryOf } from "./call.ts";

const CALLER = {
	id: "00000000-0000-4000-8000-000000000000",
	name: "the permissions of the caller",
	cf_api_id: "caller",
	enabled: true,
	legacy: false,
	created_at: new Date(0).toISOString(),
	modified_at: new Date(0).toISOString(),
};

const Text = lazy(() => z.string().min(1).max(1_024));
const NewToken = lazy(() => z.object({ name: Text(), cf_api_id: Text(), cf_api_key: Text() }));
const TokenChanges = lazy(() => NewToken().partial());

const example = { name: "search", cf_api_id: "3f4a", cf_api_key: "secret" };

export const tokenRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "",
		permission: "search-read",
		summary: "Lists the tokens of AI Search",
		query: () => PageQuery(),
		output: answer("searchTokensAnswer"),
		async handler(c) {
			const query = queryOf(PageQuery(), c);
			return pageEnvelope({ values: query.page === 1 ? [CALLER] : [], total: 1 }, query, (token) => token);
		},
	},
	{
		method: "POST",
		path: "",
		permission: "search-write",
		summary: "Accepts a token of AI Search, without effect",
		input: { type: "application/json", schema: NewToken, example },
		output: answer("searchTokenAnswer"),
		async handler(c, { services }) {
			await readFields(NewToken(), c.req.raw, services);
			return envelope(CALLER);
		},
	},
	{
		method: "GET",
		path: "/:token",
		permission: "search-read",
		summary: "Shows the token of AI Search",
		output: answer("searchTokenAnswer"),
		handler: async () => envelope(CALLER),
	},
	{
		method: "PUT",
		path: "/:token",
		permission: "search-write",
		summary: "Accepts changes of a token of AI Search, without effect",
		input: { type: "application/json", schema: TokenChanges, example },
		output: answer("searchTokenAnswer"),
		async handler(c, { services }) {
			await readFields(TokenChanges(), c.req.raw, services);
			return envelope(CALLER);
		},
	},
	{
		method: "DELETE",
		path: "/:token",
		permission: "search-write",
		summary: "Accepts the deletion of a token of AI Search, without effect",
		output: answer("searchTokenAnswer"),
		handler: async () => envelope(CALLER),
	},
];
