import { ROUTES as PRODUCTION } from "../../../src/surfaces/routes.ts";
import { languageRoutes } from "../language-routes.ts";

export { UNKNOWN_PATHS } from "../../../src/surfaces/routes.ts";
export const ROUTES = [...languageRoutes, ...PRODUCTION];
