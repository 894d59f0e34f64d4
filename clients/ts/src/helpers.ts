/**
 * Functions for the values of Kubernetes objects: times, quantities, conditions and owners. They
 * take objects as Kubernetes JSON, such as `pod.value`, and a bundler keeps only those that are used.
 *
 * @module
 */
export { conditionOf, isReady, isTrue, type Condition } from "./helpers/conditions.js";
export { parseIntOrString, scaledValue, type IntOrString } from "./helpers/intorstring.js";
export {
  controllerOf,
  ownerChain,
  ownersOf,
  type OwnerChainOptions,
  type OwnerReference,
} from "./helpers/owners.js";
export {
  addQuantities,
  compareQuantities,
  decimalOf,
  formatQuantity,
  numberOf,
  parseQuantity,
  type Quantity,
  type QuantityFormat,
} from "./helpers/quantity.js";
export { ageOf, formatAge, parseTime } from "./helpers/time.js";
