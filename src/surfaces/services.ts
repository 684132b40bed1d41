/** The services of the handlers: those of all rooms, and those of the operator's routes. Types only. */
import type { CountReport } from "../core/shared-count.ts";
import type { GatewayServices } from "../gateways/services.ts";
import type { HttpServices } from "../http/services.ts";
import type { JobsServices } from "../jobs/services.ts";
import type { DocumentServices } from "../retrieval/documents/convert.ts";
import type { SearchRoomServices } from "../retrieval/search/services.ts";
import type { VectorServices } from "../retrieval/vectors/services.ts";
import type { RequestTimes } from "../telemetry/request-times.ts";
import type { Workers } from "../telemetry/workers.ts";

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
	/** A static file of the deployment, by its name. Absent: there are none. */
	assets?(file: string): Promise<Response>;
	/** What this process holds, by class. */
	counts(): CountReport[];
	/** The processes of the gateway. Absent: this one is the only one. */
	workers?: Workers;
}
