/** Whether this is `npm run test:deep`, in which some tests go through everything that the others choose from. */
export const isDeep = process.env.TEST_DEEP === '1';
