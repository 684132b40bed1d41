/** The static files of the OpenAPI document, by their names. */
import { ROUTES } from "../routes.ts";
import answerExamples from "./answer-examples.json" with { type: "json" };
import { docsPage } from "./docs-page.ts";
import { DOCUMENT_FILE, PAGE_FILE } from "./openapi.ts";
import { openApiDocument } from "./openapi-document.ts";

export function apiFiles(): Record<string, string> {
	const document = openApiDocument(ROUTES, { examples: answerExamples });
	return { [DOCUMENT_FILE]: JSON.stringify(document), [PAGE_FILE]: docsPage(document) };
}
