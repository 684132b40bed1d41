/** Properties reach the sizes that they name. By default fast-check keeps an array near 10 elements, whatever `maxLength` is. */
import fc from "fast-check";

fc.configureGlobal({ ...fc.readConfigureGlobal(), defaultSizeToMaxWhenMaxSpecified: true });
