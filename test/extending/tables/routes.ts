import { ROUTES as PRODUCTION } from "../../../src/surfaces/routes.ts";
import { languageRoutes } from "../language-routes.ts";
import { secondOpinionRoutes } from "../second-opinion.ts";

export { UNKNOWN_PATHS } from "../../../src/surfaces/routes.ts";
export const ROUTES = [...languageRoutes, ...secondOpinionRoutes, ...PRODUCTION];
