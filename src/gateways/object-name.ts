/** Names of the objects of gateways: `account/gateway`. The id of a gateway has no slash. */

export const accountIn = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));

export const gatewayIn = (name: string): string => name.slice(name.lastIndexOf("/") + 1);
