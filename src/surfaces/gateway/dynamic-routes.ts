/**
 * The management API of dynamic routes: `/client/v4/accounts/{account}/ai-gateway/gateways/{gateway}/routes`. The envelopes of the lists
 * and of the renaming differ from each other, as in the product.
 */
import type { Context } from "hono";
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { DynamicRoute, RouteDeployment, RouteVersion } from "../../gateways/durable/dynamic-routes.ts";
import {
	type Element,
	Elements,
	modelsIn,
	RouteName,
	unknownFields,
} from "../../gateways/dynamic/elements.ts";
import { modelNotes } from "../../gateways/run/model-notes.ts";
import { parseFields, readStored, type StoredFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { foundRoute, type RouteIds, routesOf, versionNotFound } from "./found-route.ts";
import { GATEWAYS, gatewayOf, managementFailure, pageFields } from "./management.ts";

const MAX_PER_PAGE = 100;
const DEFAULT_PER_PAGE = 20;

const Create = lazy(() => z.object({ name: RouteName(), elements: Elements() }));
const Rename = lazy(() => z.object({ name: RouteName() }));
const CreateVersion = lazy(() => z.object({ elements: Elements() }));
const Deploy = lazy(() => z.object({ version_id: z.string().min(1).max(100) }));
const Page = lazy(() => z.object(pageFields(MAX_PER_PAGE, DEFAULT_PER_PAGE)));

/** One model, for the OpenAPI document. */
const EXAMPLE = [
	{ id: "start", type: "start", outputs: { next: { elementId: "model" } } },
	{
		id: "model",
		type: "model",
		properties: {
			provider: "workers-ai",
			model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
			timeout: 10_000,
			retries: 0,
		},
		outputs: { success: { elementId: "end" } },
	},
	{ id: "end", type: "end", outputs: {} },
];

const json = (schema: () => z.ZodType, example: unknown) => ({ type: "application/json", schema, example });

export const dynamicRouteRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(GATEWAYS, "/:gateway/routes")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the dynamic routes of a gateway",
			output: answer("routesAnswer"),
			query: Page,
			permission: "read",
			handler: async (c, call) => {
				const gateway = await gatewayOf(c, call);
				const routes = (await routesOf(call).list(gateway)).map((route) => ({
					...routeJson(route),
					account_tag: call.caller.account,
				}));
				return paged(c, "routes", routes);
			},
		},
		{
			method: "POST",
			path: "",
			summary: "Creates a dynamic route",
			output: answer("routeAnswer"),
			input: json(Create, { name: "fast", elements: EXAMPLE }),
			permission: "gateways-write",
			handler: async (c, call) => {
				const stored = await read(Create(), c, call);
				const { name, elements } = stored.fields;
				const gateway = await gatewayOf(c, call);
				const created = await change(call, (routes) => routes.create(gateway, name, elements));
				return withElements(stored, await foundRoute({ gateway, route: name }, call, created), call);
			},
		},
		{
			method: "GET",
			path: "/:route",
			summary: "Shows a dynamic route",
			output: answer("routeAnswer"),
			permission: "read",
			handler: async (c, call) => envelope(routeJson(await routeOf(c, call))),
		},
		{
			method: "PATCH",
			path: "/:route",
			summary: "Renames a dynamic route",
			output: answer("renamedRouteAnswer"),
			input: json(Rename, { name: "faster" }),
			permission: "gateways-write",
			handler: async (c, call) => {
				const { fields, notes } = await read(Rename(), c, call);
				const ids = idsOf(c);
				const changed = await change(call, (routes) => routes.rename(ids.gateway, ids.route, fields.name));
				const renamed = await foundRoute(ids, call, changed);
				const shown = { ...routeJson(renamed), account_tag: call.caller.account };
				const messages = notes(shown);
				return Response.json({ success: true, route: shown, ...(messages.length > 0 && { messages }) });
			},
		},
		{
			method: "DELETE",
			path: "/:route",
			summary: "Deletes a dynamic route",
			output: answer("routeSummaryAnswer"),
			permission: "gateways-write",
			handler: async (c, call) => {
				const ids = idsOf(c);
				const changed = await change(call, (routes) => routes.delete(ids.gateway, ids.route));
				const deleted = await foundRoute(ids, call, changed);
				return envelope(summaryJson(deleted, deleted.version.elements));
			},
		},
		{
			method: "GET",
			path: "/:route/versions",
			summary: "Lists the versions of a dynamic route",
			output: answer("routeVersionsAnswer"),
			query: Page,
			permission: "read",
			handler: async (c, call) => {
				const { id, deployment } = await routeOf(c, call);
				const versions = await routesOf(call).versions(id);
				return paged(
					c,
					"versions",
					versions.map((version) => versionJson(version, deployment)),
				);
			},
		},
		{
			method: "POST",
			path: "/:route/versions",
			summary: "Creates a version of a dynamic route",
			output: answer("routeAnswer"),
			input: json(CreateVersion, { elements: EXAMPLE }),
			permission: "gateways-write",
			handler: async (c, call) => {
				const stored = await read(CreateVersion(), c, call);
				const { elements } = stored.fields;
				const ids = idsOf(c);
				const { gateway, route } = ids;
				const changed = await change(call, (routes) => routes.createVersion(gateway, route, elements));
				return withElements(stored, await foundRoute(ids, call, changed), call);
			},
		},
		{
			method: "GET",
			path: "/:route/versions/:version",
			summary: "Shows a version of a dynamic route",
			output: answer("routeVersionAnswer"),
			permission: "read",
			handler: async (c, call) => {
				const route = await routeOf(c, call);
				const id = pathParameter(c, "version");
				const version = await routesOf(call).version(route.id, id);
				if (!version) throw versionNotFound(id);
				return envelope({
					...summaryJson(route, version.elements),
					...versionJson(version, route.deployment),
				});
			},
		},
		{
			method: "GET",
			path: "/:route/deployments",
			summary: "Lists the deployments of a dynamic route",
			output: answer("routeDeploymentsAnswer"),
			query: Page,
			permission: "read",
			handler: async (c, call) => {
				const { id } = await routeOf(c, call);
				return paged(c, "deployments", (await routesOf(call).deployments(id)).map(deploymentJson));
			},
		},
		{
			method: "POST",
			path: "/:route/deployments",
			summary: "Deploys a version of a dynamic route",
			output: answer("routeAnswer"),
			input: json(Deploy, { version_id: "00000000-0000-4000-8000-000000000000" }),
			permission: "gateways-write",
			handler: async (c, call) => {
				const stored = await read(Deploy(), c, call);
				const { version_id } = stored.fields;
				const ids = idsOf(c);
				const { gateway, route } = ids;
				const deployed = await change(call, (routes) => routes.deploy(gateway, route, version_id));
				if (!deployed && (await routesOf(call).get(gateway, route))) throw versionNotFound(version_id);
				return stored.answer(routeJson(await foundRoute(ids, call, deployed)));
			},
		},
	],
);

const idsOf = (c: Context): RouteIds => ({
	gateway: pathParameter(c, "gateway"),
	route: pathParameter(c, "route"),
});

const change = <T>(
	{ caller, services }: AppCall,
	call: (routes: ReturnType<typeof routesOf>) => Promise<T>,
): Promise<T> => services.deployedRoutes.change(caller.account, call);

const read = <Fields>(schema: z.ZodType<Fields> & { shape: object }, c: Context, { services }: AppCall) =>
	readStored(schema, c.req.raw, services);

/** The answer to new elements, whose unknown fields are stored, for editors. `messages` also name models that cannot be called. */
async function withElements(
	{ fields: { elements }, notes }: StoredFields<{ elements: Element[] }>,
	route: DynamicRoute,
	{ caller, services }: AppCall,
): Promise<Response> {
	const shown = routeJson(route);
	const models = await modelNotes(modelsIn(elements), { caller, gateway: route.gateway }, services);
	return envelope(shown, { messages: [...notes(shown), ...unknownFields(elements), ...models] });
}

async function routeOf(c: Context, call: AppCall): Promise<DynamicRoute> {
	const ids = idsOf(c);
	return foundRoute(ids, call, await routesOf(call).get(ids.gateway, ids.route));
}

/** One page of a list, in an envelope of its own. */
function paged(c: Context, name: string, rows: readonly object[]): Response {
	const { page, per_page } = parseFields(Page(), c.req.query(), "query");
	const first = (page - 1) * per_page;
	const data = {
		[name]: rows.slice(first, first + per_page),
		page,
		per_page,
		order_by: "created_at",
		order_by_direction: name === "routes" ? "asc" : "desc",
	};
	return Response.json({ success: true, data });
}

const iso = (time: number): string => new Date(time).toISOString();

const summaryJson = ({ id, gateway, name, createdAt, modifiedAt }: DynamicRoute, elements: Element[]) => ({
	id,
	gateway_id: gateway,
	name,
	created_at: iso(createdAt),
	modified_at: iso(modifiedAt),
	elements,
});

const routeJson = (route: DynamicRoute) => ({
	...summaryJson(route, route.version.elements),
	version: versionJson(route.version, route.deployment),
	deployment: route.deployment ? deploymentJson(route.deployment) : null,
});

const versionJson = ({ id, elements, createdAt }: RouteVersion, deployment: RouteDeployment | undefined) => ({
	version_id: id,
	active: deployment?.version === id ? "true" : "false",
	created_at: iso(createdAt),
	data: JSON.stringify(elements),
	is_valid: true,
});

const deploymentJson = ({ id, version, createdAt }: RouteDeployment) => ({
	deployment_id: id,
	version_id: version,
	created_at: iso(createdAt),
});
