/** How many gateways an account may have beside the default one. */
export const MAX_GATEWAYS = 100;
/** With the default one. One page of a list has all of them. */
export const ALL_GATEWAYS = MAX_GATEWAYS + 1;
/** How many custom providers an account may have. One page of a list has all of them. */
export const MAX_CUSTOM_PROVIDERS = 100;
