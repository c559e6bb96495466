/** The robot whose server the page comes from, which IDs may have before the memory's name; "" if it has no name. */
export const own = $state({ robot: '' })
