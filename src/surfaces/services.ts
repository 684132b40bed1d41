/** The services of the handlers: those of all rooms, and those of the operator's routes. Types only. */
import type { UsedObjects } from "../accounts/client/used-objects.ts";
import type { DeletedAccounts } from "../core/deleted-accounts.ts";
import type { Hint } from "../core/hints.ts";
import type { CountReport, SeparatedRequests } from "../core/shared-count.ts";
import type { GatewayServices } from "../gateways/services.ts";
import type { HttpServices } from "../http/services.ts";
import type { JobsServices } from "../jobs/services.ts";
import type { DocumentServices } from "../retrieval/documents/convert.ts";
import type { SearchRoomServices } from "../retrieval/search/services.ts";
import type { VectorServices } from "../retrieval/vectors/services.ts";
import type { RequestTimes } from "../telemetry/request-times.ts";
import type { Workers } from "../telemetry/workers.ts";

/** The bindings of all classes of objects. `accounts/account-rooms.ts` has an answer for each. */
export type ObjectBinding =
	| ErasableBinding
	| "ACCOUNT"
	| "DIRECTORY"
	| "FLEET"
	| "SEARCH_INSTANCE"
	| "STREAM_RUN"
	| "VECTOR_INDEX"
	| "WORK_QUEUE";

/** The bindings of objects that belong to one account each, or to one gateway. */
export type ErasableBinding =
	| "BLOBS"
	| "GATEWAY"
	| "GATEWAYS"
	| "JOB_STORE"
	| "RESPONSE_CACHE"
	| "RESPONSE_STORE"
	| "SEARCH_REGISTRY"
	| "VECTOR_REGISTRY";

export interface AppServices
	extends HttpServices,
		GatewayServices,
		DocumentServices,
		JobsServices,
		VectorServices,
		SearchRoomServices {
	limits: GatewayServices["limits"];
	/** What this process counts for `/metrics`. */
	requestTimes: RequestTimes;
	/** Deletes everything in an object of an account. Returns the number of rows, or nothing if it must be called again. */
	eraseObject(binding: ErasableBinding, name: string): Promise<number | undefined>;
	deletedAccounts: DeletedAccounts;
	/** The classes of objects that an account uses. */
	usedObjects: Pick<UsedObjects, "of" | "mayReport">;
	/** Writes sentences for which an answer in the product's format has no place. Absent: the gateway is not for development. */
	hint?: Hint;
	/** A static file of the deployment, by its name. Absent: there are none. */
	assets?(file: string): Promise<Response>;
	/** What this process holds, by class. */
	counts(): CountReport[];
	/** Of the connection guard. */
	separatedRequests(): SeparatedRequests | undefined;
	/** The processes of the gateway. Absent: this one is the only one. */
	workers?: Workers;
}
