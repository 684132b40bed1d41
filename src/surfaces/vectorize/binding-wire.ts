/**
 * The requests of the runtime's own `VectorizeIndex` class (workerd, src/cloudflare/internal/vectorize-api.ts), version 2: JSON without an
 * envelope, and `{code, error}` with the status of a failure.
 */
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import {
	deleteVectors,
	describeIndex,
	getVectors,
	type IndexCall,
	queryIndex,
	writeVectors,
} from "./operations.ts";

interface WireOperation {
	method: "GET" | "POST";
	run(call: IndexCall): Promise<object>;
}

const OPERATIONS: Readonly<Record<string, WireOperation>> = {
	"/info": { method: "GET", run: describeIndex },
	"/query": { method: "POST", run: queryIndex },
	"/insert": { method: "POST", run: (call) => writeVectors(call, "insert") },
	"/upsert": { method: "POST", run: (call) => writeVectors(call, "upsert") },
	"/getByIds": { method: "POST", run: getVectors },
	"/deleteByIds": { method: "POST", run: deleteVectors },
};

/** The result of a request of the class. Throws `AiError`. */
export function wireResult(call: IndexCall): Promise<object> {
	const { method, url } = call.request;
	const operation = own(OPERATIONS, new URL(url).pathname);
	if (operation?.method !== method) throw new AiError("noRoute");
	return operation.run(call);
}

export const wireFailure = ({ code, description, status }: AiError): Response =>
	Response.json({ code, error: description }, { status });
