/**
 * Renders an OpenAPI document as one HTML page. Schemas and examples are in sections that open on a click.
 *
 * It has no scripts. The published renderers that need no network have 2 MB and more (Redoc's file has 2.3 MB), and need scripts
 * and workers that the policy of the other pages forbids.
 */
import { html, raw } from "hono/html";
import { shellQuoted } from "../../core/shell.ts";
import type { ApiDocument, Operation, Parameter } from "./openapi-document.ts";
import type { BodyContent } from "./openapi-schemas.ts";

type Html = ReturnType<typeof html>;

const STYLE = `
:root { color-scheme: light dark; --line: #8883; --soft: #8881; --accent: #0f5fc2; --quiet: #666; }
@media (prefers-color-scheme: dark) { :root { --accent: #7db7ff; --quiet: #aaa; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 14rem minmax(0, 60rem); gap: 2rem; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem; box-sizing: border-box; border-right: 1px solid var(--line); }
nav ul { list-style: none; padding: 0; } nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
main { min-width: 0; padding: 1rem; overflow-wrap: anywhere; } a { color: var(--accent); }
h1 { font-size: 1.75rem; } h2 { margin: 2.5rem 0 1rem; font-size: 1.25rem; } p { margin: .25rem 0; } ul { margin: .25rem 0 .5rem; }
article { margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--line); border-radius: .75rem; } h3 { margin: 0 0 .25rem; font-size: 1rem; }
code, pre { font: .8125rem/1.5 ui-monospace, monospace; } pre { background: var(--soft); padding: .75rem; overflow: auto; border-radius: .5rem; }
table { margin: .5rem 0; border-collapse: collapse; } th, td { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }
th { color: var(--quiet); font-size: .8125rem; font-weight: 500; } td:nth-child(-n+2) { min-width: 5rem; }
summary { cursor: pointer; } .method { color: var(--accent); font-weight: 700; } :focus-visible { outline: 2px solid var(--accent); }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border: 0; } nav li { display: inline-block; margin-right: .75rem; } }
`;

interface TableRow {
	method: string;
	path: string;
	operation: Operation;
}

export function docsPage(document: ApiDocument): string {
	const rows = Object.entries(document.paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, operation]): TableRow => ({ method, path, operation })),
	);
	const sections = document.tags.map(({ name }) => section(name, rows));
	const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${document.info.title} API</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<nav aria-label="Groups of operations">
<strong>${document.info.title} API</strong>
<ul>${document.tags.map(({ name }) => html`<li><a href="#${anchor(name)}">${name}</a></li>`)}</ul>
<ul><li><a href="/openapi.json">openapi.json</a></li><li><a href="/console">Console</a></li></ul>
</nav>
<main>
<h1>${document.info.title} API</h1>
<p>${document.info.description}</p>
<pre>${document.servers.map(({ url }) => `export GATEWAY=${url}`).join("\n")}</pre>
${sections}
<h2 id="schemas">Schemas</h2>
${Object.entries(document.components.schemas).map(
	([name, schema]) =>
		html`<details id="${anchor(name)}"><summary><code>${name}</code></summary>${json(schema)}</details>`,
)}
</main>
</body>
</html>
`;
	return String(page);
}

const anchor = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

const json = (value: unknown): Html => html`<pre>${JSON.stringify(value, undefined, 2)}</pre>`;

const section = (tag: string, rows: readonly TableRow[]): Html =>
	html`<section aria-labelledby="${anchor(tag)}"><h2 id="${anchor(tag)}">${tag}</h2>${rows
		.filter(({ operation }) => operation.tags.includes(tag))
		.map(article)}</section>`;

function article({ method, path, operation }: TableRow): Html {
	const { operationId, parameters = [], requestBody, responses, security, summary } = operation;
	const [bodyType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
	const credentials = security.flatMap(Object.keys).join(", ");
	return html`<article id="${operationId}">
<h3><span class="method">${method.toUpperCase()}</span> <code>${path}</code></h3>
<p>${summary}</p>
<p>${credentials ? html`Credential: <code>${credentials}</code>` : "No credential"}</p>
${parameters.length > 0 ? parameterTable(parameters) : ""}
${bodyType ? html`<p>Body: ${contentOf(bodyType, body)}</p>` : ""}
<p>Answers:</p>
<ul>${Object.entries(responses).map(
		([status, { content = {}, description }]) =>
			html`<li>${status}: ${description} ${Object.entries(content).map(([type, answer]) => contentOf(type, answer))}</li>`,
	)}</ul>
<details><summary>Example</summary><pre>${curl({ method, path, type: bodyType, body, needsToken: credentials !== "" })}</pre>${answerExample(responses)}</details>
</article>`;
}

/** The first example of the answer. */
function answerExample(responses: Operation["responses"]): Html | "" {
	const { example } = Object.values(responses[200]?.content ?? {}).find((each) => "example" in each) ?? {};
	if (example === undefined) return "";
	return html`<p>Answer:</p>${typeof example === "string" ? html`<pre>${example}</pre>` : json(example)}`;
}

const parameterTable = (parameters: readonly Parameter[]): Html =>
	html`<table><thead><tr><th scope="col">Parameter</th><th scope="col">In</th><th scope="col">Schema</th></tr></thead><tbody>${parameters.map(
		({ name, in: place, required, schema }) =>
			html`<tr><td><code>${name}</code>${required ? "" : " (optional)"}</td><td>${place}</td><td><code>${JSON.stringify(schema)}</code></td></tr>`,
	)}</tbody></table>`;

const REFERENCE = /^#\/components\/schemas\/(.+)$/;

function contentOf(type: string, content: BodyContent | undefined): Html {
	const { $ref = "", description } = content?.schema ?? {};
	const name = typeof $ref === "string" ? REFERENCE.exec($ref)?.[1] : undefined;
	const schema = name === undefined ? description : html`<a href="#${anchor(name)}">${name}</a>`;
	return html`<code>${type}</code> ${schema ?? ""} `;
}

interface Example {
	method: string;
	path: string;
	type: string | undefined;
	body: BodyContent | undefined;
	needsToken: boolean;
}

function curl({ method, path, type, body, needsToken }: Example): string {
	return [
		`curl -X ${method.toUpperCase()} "$GATEWAY${path}"`,
		...(needsToken ? [`-H "authorization: Bearer $TOKEN"`] : []),
		...(type === undefined ? [] : bodyArguments(type, body?.example)),
	].join(" \\\n  ");
}

function bodyArguments(type: string, example: unknown): string[] {
	// curl adds the boundary of a form to its content type.
	if (type.startsWith("multipart/"))
		return Object.entries(example ?? {}).map(([name, value]) => `-F ${shellQuoted(`${name}=${value}`)}`);
	return [
		`-H 'content-type: ${type}'`,
		...(example === undefined ? [] : [`-d ${shellQuoted(JSON.stringify(example))}`]),
	];
}
