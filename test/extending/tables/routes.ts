import { ROUTES as PRODUCTION } from "../../../src/surfaces/routes.ts";
import { languageRoutes } from "../language-routes.ts";
import { opinionRoutes } from "../room/routes.ts";
import { LastOpinions } from "../room/services.ts";

export { UNKNOWN_PATHS } from "../../../src/surfaces/routes.ts";
export const ROUTES = [
	...languageRoutes,
	...opinionRoutes({ lastOpinions: new LastOpinions() }),
	...PRODUCTION,
];
